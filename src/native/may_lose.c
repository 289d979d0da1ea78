/* Check that something was written of every field of a conversation.

   `renderers.rendering.loss_check` does the same in Python if this extension was not built. Attributes are slots, which
   run no Python code. */

#include "native.h"

#include <string.h>

#define MOST 64 /* calls, parts and items from this number on are not looked at */

/* The strings that are compared with keys, in the order of the argument. */
enum { OWNER, RUNS, ROLE, CONTENT, NAME, CALLS, FUNCTION, ARGUMENTS, REASONING, THINKING, REASONING_CONTENT, TYPE, TEXT,
       TOOL, FUNCTION_CALL, REFUSAL, SYSTEM, DEVELOPER, USER, ASSISTANT, ID, TEXT_BESIDE_CALLS, COUNT };

/* The fields of a message that were written. Bits are the numbers of calls and of parts. */
typedef struct {
    uint64_t names, arguments, ids, parts;
    Py_ssize_t content_size; /* the length of the longest text of the content as a whole, without white space around it */
    char content, reasoning, name;
} Written;

typedef struct {
    PyObject *const *words;
    Py_ssize_t count;
    Written *messages;
    PyObject *items; /* pairs of a kind and a value */
    uint64_t written_items;
    const PyObject *last_item; /* the key of the item that was noted last, only to be compared */
    PyObject *kinds; /* a container of kinds of losses */
    int wants_names, wants_calls, wants_reasoning, wants_text_beside_calls;
    PyObject *called; /* a set of names. Created first: up to Python 3.11, its allocation can run finalizers */
} Check;

static int equals(PyObject *one, PyObject *other)
{
    return one == other || (PyUnicode_Check(one) && PyUnicode_GetLength(one) == PyUnicode_GetLength(other) &&
                            PyUnicode_Compare(one, other) == 0);
}

/* Note that an item was written: something of the tools or the documents. */
static void note_item(Check *check, PyObject *key)
{
    if (key == check->last_item)
        return;
    check->last_item = key;
    for (Py_ssize_t at = 0; at < PyTuple_Size(check->items); at++)
        if (equals(key, PyTuple_GetItem(PyTuple_GetItem(check->items, at), 0)))
            check->written_items |= (uint64_t)1 << at;
}

/* Return the bit of a number in a path, 0 if it has none. */
static uint64_t bit_of(PyObject *number)
{
    long index = PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    return index >= 0 && index < MOST ? (uint64_t)1 << index : 0;
}

/* Note that a part of a call was written. */
static void note_call(const Check *check, Written *written, PyObject *path, Py_ssize_t size)
{
    PyObject *key = size > 2 ? PyTuple_GetItem(path, 2) : NULL;
    if (key != NULL && equals(key, check->words[FUNCTION]))
        key = size > 3 ? PyTuple_GetItem(path, 3) : NULL;
    if (key == NULL)
        return;
    uint64_t bit = bit_of(PyTuple_GetItem(path, 1));
    if (equals(key, check->words[NAME]))
        written->names |= bit;
    else if (equals(key, check->words[ARGUMENTS]))
        written->arguments |= bit;
    else if (equals(key, check->words[ID]))
        written->ids |= bit;
}

static int is_space(Py_UCS4 character)
{
    return character == ' ' || (character >= '\t' && character <= '\r');
}

/* Move the ends of a part of a text past the white space around it. */
static void strip(PyObject *text, Py_ssize_t *start, Py_ssize_t *end)
{
    while (*start < *end && is_space(PyUnicode_ReadChar(text, *start)))
        ++*start;
    while (*end > *start && is_space(PyUnicode_ReadChar(text, *end - 1)))
        --*end;
}

/* Note that a part of a text was written that belongs to a field. Text of a message as a whole does not count. */
static void note_field(Check *check, PyObject *owner, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    if (!PyTuple_CheckExact(owner) || PyTuple_Size(owner) != 2)
        return;
    PyObject *number = PyTuple_GetItem(owner, 0), *path = PyTuple_GetItem(owner, 1);
    Py_ssize_t size = PyTuple_Check(path) ? PyTuple_Size(path) : 0;
    if (size == 0 || !PyLong_Check(number))
        return;
    long index = PyLong_AsLong(number);
    PyObject *const *words = check->words;
    PyObject *key = PyTuple_GetItem(path, 0);
    if (index < 0) {
        note_item(check, key);
        return;
    }
    if (index >= check->count)
        return;
    Written *written = &check->messages[index];
    if (key == words[ROLE])
        return;
    if (equals(key, words[CONTENT])) {
        if (size > 1 && equals(PyTuple_GetItem(path, size - 1), words[THINKING])) {
            written->reasoning = 1;
        } else {
            written->content = 1;
            if (size > 1) {
                written->parts |= bit_of(PyTuple_GetItem(path, 1));
            } else if (end - start > written->content_size) {
                strip(text, &start, &end);
                written->content_size = end - start > written->content_size ? end - start : written->content_size;
            }
        }
    } else if (equals(key, words[CALLS])) {
        if (size > 2)
            note_call(check, written, path, size);
    } else if (equals(key, words[NAME])) {
        written->name = 1;
    } else if (equals(key, words[REASONING_CONTENT]) || equals(key, words[REASONING]) || equals(key, words[THINKING])) {
        written->reasoning = 1;
    }
}

/* Note the owners of the runs of a text. Return -1 on failure. */
static int note_runs(Check *check, PyObject *text, PyObject *runs)
{
    Py_ssize_t start = 0, length = PyUnicode_GetLength(text);
    for (Py_ssize_t at = 0; PyTuple_Check(runs) && at < PyTuple_Size(runs); at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        if (!PyTuple_Check(run) || PyTuple_Size(run) != 2)
            continue;
        Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        if (end == -1 && PyErr_Occurred())
            return -1;
        if (start < end && end <= length)
            note_field(check, PyTuple_GetItem(run, 1), text, start, end);
        start = end;
    }
    return 0;
}

/* Note all fields with text in an output. Return -1 on failure. */
static int note_pieces(Check *check, PyObject *pieces, PyObject *types)
{
    PyObject *field_type = PyTuple_GetItem(types, 0), *mixed_type = PyTuple_GetItem(types, 1);
    PyObject *safe_type = PyTuple_GetItem(types, 2);
    for (Py_ssize_t at = 0; at < PyList_Size(pieces); at++) {
        PyObject *piece = PyList_GetItem(pieces, at), *type = (PyObject *)Py_TYPE(piece);
        if (type == field_type) {
            if (PyUnicode_GetLength(piece) == 0)
                continue;
            PyObject *owner = PyObject_GetAttr(piece, check->words[OWNER]);
            if (owner == NULL)
                return -1;
            note_field(check, owner, piece, 0, PyUnicode_GetLength(piece));
            Py_DECREF(owner);
        } else if (type == mixed_type || type == safe_type) {
            PyObject *runs = PyObject_GetAttr(piece, check->words[RUNS]);
            int failed = runs == NULL || note_runs(check, piece, runs) < 0;
            Py_XDECREF(runs);
            if (failed)
                return -1;
        }
    }
    return 0;
}

/* Return 1 if a value has no text: it is None or ASCII white space. */
static int is_blank(PyObject *value)
{
    if (value == Py_None)
        return 1;
    if (!PyUnicode_Check(value))
        return 0;
    for (Py_ssize_t at = 0, size = PyUnicode_GetLength(value); at < size; at++)
        if (!is_space(PyUnicode_ReadChar(value, at)))
            return 0;
    return 1;
}

/* Return 1 if a message has a role. */
static int has_role(const Check *check, PyObject *message, int role)
{
    PyObject *value = PyDict_GetItemWithError(message, check->words[ROLE]);
    return value != NULL && equals(value, check->words[role]);
}

/* Return 1 if all texts of the content of a message were written, or if a loss of them does not count. */
static int writes_content(const Check *check, PyObject *message, const Written *written, PyObject *content)
{
    if (is_blank(content))
        return 1;
    int is_ignored = written->names != 0 && !check->wants_text_beside_calls && !check->wants_reasoning &&
                     has_role(check, message, ASSISTANT);
    if (PyUnicode_Check(content))
        return written->content || is_ignored;
    if (!PyList_CheckExact(content))
        return 0;
    Py_ssize_t count = PyList_Size(content), length = 0, first = 0, last = 0;
    int writes_each = 1;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *part = PyList_GetItem(content, at);
        PyObject *type = PyDict_CheckExact(part) ? PyDict_GetItemWithError(part, check->words[TYPE]) : NULL;
        PyObject *text = type != NULL ? PyDict_GetItemWithError(part, check->words[TEXT]) : NULL;
        if (text == NULL || !equals(type, check->words[TEXT]) || !PyUnicode_Check(text))
            return 0;
        Py_ssize_t size = PyUnicode_GetLength(text), start = 0, end = size;
        strip(text, &start, &end);
        if (start < end) {
            if (!(count == 1 ? written->content : at < MOST && (written->parts >> at & 1)))
                writes_each = 0;
            first = last ? first : length + start;
            last = length + end;
        }
        length += size;
    }
    /* A program may write the joined text of all parts. */
    return writes_each || is_ignored || written->content_size >= last - first;
}

static int is_word_character(Py_UCS4 character)
{
    return character >= 0x80 || character == '_' || (character >= '0' && character <= '9') ||
           (character >= 'A' && character <= 'Z') || (character >= 'a' && character <= 'z');
}

/* Return 1 if a text contains a name as a word, 0 if not, -1 on failure. */
static int is_word_in(PyObject *name, PyObject *text)
{
    if (!PyUnicode_Check(text))
        return 0;
    Py_ssize_t size = PyUnicode_GetLength(name), length = PyUnicode_GetLength(text), at = -1;
    while (size > 0 && (at = PyUnicode_Find(text, name, at + 1, length, 1)) >= 0)
        if ((at == 0 || !is_word_character(PyUnicode_ReadChar(text, at - 1))) &&
            (at + size == length || !is_word_character(PyUnicode_ReadChar(text, at + size))))
            return 1;
    return at == -2 ? -1 : 0;
}

/* Return 1 if arguments are empty: a false value, a blank text, or the JSON of an empty object. -1 on failure. */
static int is_empty(PyObject *arguments)
{
    if (!PyUnicode_Check(arguments)) {
        int is_true = PyObject_IsTrue(arguments);
        return is_true < 0 ? -1 : !is_true;
    }
    Py_UCS4 brackets[2] = {'{', '}'};
    Py_ssize_t count = 0;
    for (Py_ssize_t at = 0, size = PyUnicode_GetLength(arguments); at < size; at++) {
        Py_UCS4 character = PyUnicode_ReadChar(arguments, at);
        if (is_space(character))
            continue;
        if (count == 2 || character != brackets[count++])
            return 0;
    }
    return count != 1;
}

/* Return 1 if the name and the arguments of a call were written, 0 if not, -1 on failure. */
static int writes_call(Check *check, const Written *written, PyObject *call, uint64_t bit)
{
    PyObject *function = PyDict_CheckExact(call) ? PyDict_GetItemWithError(call, check->words[FUNCTION]) : NULL;
    if (function == NULL || !PyDict_CheckExact(function))
        return 0;
    PyObject *name = PyDict_GetItemWithError(function, check->words[NAME]);
    if (name == NULL || !PyUnicode_Check(name))
        return 0;
    if (PySet_Add(check->called, name) < 0)
        return -1;
    if (!(written->names & bit)) {
        PyObject *id = written->ids & bit ? PyDict_GetItemWithError(call, check->words[ID]) : NULL;
        int is_in_id = id != NULL ? is_word_in(name, id) : 0;
        if (is_in_id < 0)
            return -1;
        if (!is_in_id && (check->wants_names || !((written->arguments | written->ids) & bit)))
            return 0;
    }
    PyObject *arguments = PyDict_GetItemWithError(function, check->words[ARGUMENTS]);
    if (arguments == NULL || written->arguments & bit || (!check->wants_calls && written->names & bit))
        return 1;
    return is_empty(arguments);
}

static int writes_calls(Check *check, const Written *written, PyObject *calls)
{
    if (calls == Py_None)
        return 1;
    if (!PyList_CheckExact(calls) || PyList_Size(calls) > MOST)
        return 0;
    for (Py_ssize_t at = 0; at < PyList_Size(calls); at++) {
        int is_written = writes_call(check, written, PyList_GetItem(calls, at), (uint64_t)1 << at);
        if (is_written != 1)
            return is_written;
    }
    return 1;
}

/* Return 1 if reasoning was written, and the message has no other reasoning under another name. */
static int writes_reasoning(const Check *check, PyObject *message, const Written *written, PyObject *reasoning)
{
    const int keys[3] = {REASONING_CONTENT, REASONING, THINKING};
    if (is_blank(reasoning))
        return 1;
    if (!written->reasoning || !PyUnicode_Check(reasoning))
        return 0;
    for (int at = 0; at < 3; at++) {
        PyObject *other = PyDict_GetItemWithError(message, check->words[keys[at]]);
        if (other != NULL && !is_blank(other) && !equals(other, reasoning))
            return 0;
    }
    return 1;
}

/* Return 1 for the roles that most messages have. */
static int is_usual_role(const Check *check, PyObject *role)
{
    PyObject *const *words = check->words;
    return equals(role, words[USER]) || equals(role, words[ASSISTANT]) || equals(role, words[TOOL]) ||
           equals(role, words[SYSTEM]) || equals(role, words[DEVELOPER]);
}

/* Return 1 if something was written of a field of a message, or if it does not count. 0 if not, -1 on failure. */
static int writes_field(Check *check, PyObject *message, const Written *written, PyObject *key, PyObject *value)
{
    PyObject *const *words = check->words;
    if (equals(key, words[ROLE]))
        return written->content || is_usual_role(check, value);
    if (equals(key, words[CONTENT]))
        return writes_content(check, message, written, value);
    if (equals(key, words[CALLS]))
        return writes_calls(check, written, value);
    if (equals(key, words[NAME])) {
        if (written->name || !check->wants_names || is_blank(value))
            return 1;
        if (!PyUnicode_Check(value) || !has_role(check, message, TOOL))
            return 0;
        return PySet_Contains(check->called, value);
    }
    if (equals(key, words[REASONING_CONTENT]) || equals(key, words[REASONING]) || equals(key, words[THINKING]))
        return !check->wants_reasoning || writes_reasoning(check, message, written, value);
    if (equals(key, words[FUNCTION_CALL]) || equals(key, words[REFUSAL]))
        return is_blank(value);
    /* Any other key may hold the content of a message that has none. */
    return PyDict_GetItemWithError(message, words[CONTENT]) != NULL ||
           PyDict_GetItemWithError(message, words[CALLS]) != NULL;
}

static int writes_messages(Check *check, PyObject *messages)
{
    for (Py_ssize_t index = 0; index < check->count; index++) {
        PyObject *message = PyList_GetItem(messages, index), *key, *value;
        if (message == NULL)
            return -1;
        if (!PyDict_CheckExact(message))
            return 0;
        Py_ssize_t at = 0;
        while (PyDict_Next(message, &at, &key, &value)) {
            int is_written = writes_field(check, message, &check->messages[index], key, value);
            if (is_written != 1)
                return is_written;
        }
    }
    return 1;
}

static int writes_items(const Check *check)
{
    for (Py_ssize_t at = 0; at < PyTuple_Size(check->items); at++) {
        PyObject *item = PyTuple_GetItem(check->items, at);
        int counts = check->written_items >> at & 1 ? 0 : PyObject_IsTrue(PyTuple_GetItem(item, 1));
        if (counts > 0)
            counts = PySequence_Contains(check->kinds, PyTuple_GetItem(item, 0));
        if (counts != 0)
            return counts < 0 ? -1 : 0;
    }
    return 1;
}

/* Look up the kinds of losses that count. Return -1 on failure. */
static int read_kinds(Check *check)
{
    PyObject *const *words = check->words;
    check->wants_names = PySequence_Contains(check->kinds, words[NAME]);
    check->wants_calls = PySequence_Contains(check->kinds, words[CALLS]);
    check->wants_reasoning = PySequence_Contains(check->kinds, words[REASONING]);
    check->wants_text_beside_calls = PySequence_Contains(check->kinds, words[TEXT_BESIDE_CALLS]);
    return check->wants_names < 0 || check->wants_calls < 0 || check->wants_reasoning < 0 ||
                   check->wants_text_beside_calls < 0
               ? -1
               : 0;
}

PyObject *native_may_lose(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *messages, *items, *kinds, *types, *words;
    if (!PyArg_ParseTuple(args, "O!O!O!OO!O!:may_lose", &PyList_Type, &pieces, &PyList_Type, &messages, &PyTuple_Type,
                          &items, &kinds, &PyTuple_Type, &types, &PyTuple_Type, &words))
        return NULL;
    if (PyTuple_Size(types) != 3 || PyTuple_Size(words) != COUNT || PyTuple_Size(items) > MOST) {
        PyErr_SetString(PyExc_TypeError, "may_lose needs three types and the words of its comparisons");
        return NULL;
    }
    PyObject *names[COUNT];
    for (Py_ssize_t at = 0; at < COUNT; at++)
        names[at] = PyTuple_GetItem(words, at);
    PyObject *called = PySet_New(NULL);
    if (called == NULL)
        return NULL;
    Written few[16];
    Py_ssize_t count = PyList_Size(messages);
    size_t size = (size_t)(count ? count : 1) * sizeof(Written);
    Check check = {.words = names, .count = count, .items = items, .kinds = kinds, .called = called};
    check.messages = count <= 16 ? few : PyMem_Malloc(size);
    int writes_all = -1;
    if (check.messages == NULL) {
        PyErr_NoMemory();
    } else {
        memset(check.messages, 0, size);
        if (read_kinds(&check) == 0 && note_pieces(&check, pieces, types) == 0) {
            writes_all = writes_messages(&check, messages);
            if (writes_all == 1)
                writes_all = writes_items(&check);
        }
    }
    if (check.messages != few)
        PyMem_Free(check.messages);
    Py_DECREF(called);
    return writes_all < 0 ? NULL : PyBool_FromLong(!writes_all);
}
