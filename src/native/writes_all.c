/* Check that something was written of every field of a conversation.

   `renderers.rendering.loss_check` does the same in Python, for more shapes of messages. Attributes are slots, which run
   no Python code. */

#include "native.h"

#include <string.h>

#define MOST_CALLS 64 /* messages with more calls are left to Python */

/* The strings that are compared with keys, in the order of the argument. */
enum { OWNER, RUNS, ROLE, CONTENT, NAME, CALLS, FUNCTION, ARGUMENTS, REASONING, THINKING, REASONING_CONTENT, TYPE, TEXT,
       TOOL, FUNCTION_CALL, REFUSAL, SYSTEM, DEVELOPER, USER, ASSISTANT, COUNT };

/* What was written of a message. Bits are the numbers of calls. */
typedef struct {
    uint64_t names, arguments;
    char content, reasoning, name;
} Written;

typedef struct {
    PyObject *const *words;
    Py_ssize_t count;
    Written *messages;
    PyObject *items; /* pairs of a kind and a value */
    uint64_t written_items;
    PyObject *called; /* a set of names, NULL before the first call */
} Check;

static int equals(PyObject *one, PyObject *other)
{
    return one == other || (PyUnicode_Check(one) && PyUnicode_GetLength(one) == PyUnicode_GetLength(other) &&
                            PyUnicode_Compare(one, other) == 0);
}

/* Note that an item was written: something of the tools or the documents. */
static void note_item(Check *check, PyObject *key)
{
    for (Py_ssize_t at = 0; at < PyTuple_Size(check->items); at++)
        if (equals(key, PyTuple_GetItem(PyTuple_GetItem(check->items, at), 0)))
            check->written_items |= (uint64_t)1 << at;
}

/* Note that a part of a call was written. */
static void note_call(const Check *check, Written *written, PyObject *path, Py_ssize_t size)
{
    PyObject *key = size > 2 ? PyTuple_GetItem(path, 2) : NULL;
    if (key != NULL && equals(key, check->words[FUNCTION]))
        key = size > 3 ? PyTuple_GetItem(path, 3) : NULL;
    PyObject *number = PyTuple_GetItem(path, 1);
    long index = key != NULL && PyLong_Check(number) ? PyLong_AsLong(number) : -1;
    if (index < 0 || index >= MOST_CALLS)
        return;
    if (equals(key, check->words[NAME]))
        written->names |= (uint64_t)1 << index;
    else if (equals(key, check->words[ARGUMENTS]))
        written->arguments |= (uint64_t)1 << index;
}

/* Note that a field was written. Text of a message as a whole is left to Python. */
static void note_field(Check *check, PyObject *owner)
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
        if (size > 1 && equals(PyTuple_GetItem(path, size - 1), words[THINKING]))
            written->reasoning = 1;
        else
            written->content = 1;
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
static int note_runs(Check *check, PyObject *runs)
{
    Py_ssize_t start = 0;
    for (Py_ssize_t at = 0; PyTuple_Check(runs) && at < PyTuple_Size(runs); at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        if (!PyTuple_Check(run) || PyTuple_Size(run) != 2)
            continue;
        Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        if (end == -1 && PyErr_Occurred())
            return -1;
        if (start < end)
            note_field(check, PyTuple_GetItem(run, 1));
        start = end;
    }
    return 0;
}

/* Note all fields with text in an output. Return -1 on failure. */
static int note_pieces(Check *check, PyObject *pieces, PyObject *types)
{
    PyObject *field_type = PyTuple_GetItem(types, 0), *mixed_type = PyTuple_GetItem(types, 1);
    PyObject *safe_type = PyTuple_GetItem(types, 2);
    for (Py_ssize_t at = 0, count = PyList_Size(pieces); at < count; at++) {
        PyObject *piece = PyList_GetItem(pieces, at), *type = (PyObject *)Py_TYPE(piece);
        if (type == field_type) {
            if (PyUnicode_GetLength(piece) == 0)
                continue;
            PyObject *owner = PyObject_GetAttr(piece, check->words[OWNER]);
            if (owner == NULL)
                return -1;
            note_field(check, owner);
            Py_DECREF(owner);
        } else if (type == mixed_type || type == safe_type) {
            PyObject *runs = PyObject_GetAttr(piece, check->words[RUNS]);
            int failed = runs == NULL || note_runs(check, runs) < 0;
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
    for (Py_ssize_t at = 0, size = PyUnicode_GetLength(value); at < size; at++) {
        Py_UCS4 character = PyUnicode_ReadChar(value, at);
        if (character != ' ' && (character < '\t' || character > '\r'))
            return 0;
    }
    return 1;
}

/* Return 1 if content is a text or a list of text parts. */
static int is_text(const Check *check, PyObject *content)
{
    if (!PyList_CheckExact(content))
        return PyUnicode_Check(content);
    for (Py_ssize_t at = 0; at < PyList_Size(content); at++) {
        PyObject *part = PyList_GetItem(content, at);
        PyObject *type = PyDict_CheckExact(part) ? PyDict_GetItemWithError(part, check->words[TYPE]) : NULL;
        if (type == NULL || !equals(type, check->words[TEXT]))
            return 0;
    }
    return 1;
}

/* Return 1 if the names and arguments of all calls were written, 0 if not, -1 on failure. */
static int writes_calls(Check *check, const Written *written, PyObject *calls)
{
    if (calls == Py_None)
        return 1;
    if (!PyList_CheckExact(calls) || PyList_Size(calls) > MOST_CALLS)
        return 0;
    for (Py_ssize_t at = 0; at < PyList_Size(calls); at++) {
        PyObject *call = PyList_GetItem(calls, at);
        PyObject *function = PyDict_CheckExact(call) ? PyDict_GetItemWithError(call, check->words[FUNCTION]) : NULL;
        if (function == NULL || !PyDict_CheckExact(function))
            return 0;
        PyObject *name = PyDict_GetItemWithError(function, check->words[NAME]);
        if (name == NULL || !PyUnicode_Check(name) || !(written->names >> at & 1))
            return 0;
        if (check->called == NULL && (check->called = PySet_New(NULL)) == NULL)
            return -1;
        if (PySet_Add(check->called, name) < 0)
            return -1;
        PyObject *arguments = PyDict_GetItemWithError(function, check->words[ARGUMENTS]);
        if (arguments == NULL || written->arguments >> at & 1)
            continue;
        int given = PyObject_IsTrue(arguments);
        if (given != 0)
            return given < 0 ? -1 : 0;
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

/* Return 1 if something was written of a field of a message, 0 if Python has to decide, -1 on failure. */
static int writes_field(Check *check, PyObject *message, const Written *written, PyObject *key, PyObject *value,
                        int with_reasoning)
{
    PyObject *const *words = check->words;
    if (equals(key, words[ROLE]))
        return written->content || is_usual_role(check, value);
    if (equals(key, words[FUNCTION_CALL]) || equals(key, words[REFUSAL]))
        return is_blank(value);
    if (equals(key, words[CONTENT]))
        return (written->content && is_text(check, value)) || is_blank(value);
    if (equals(key, words[CALLS]))
        return writes_calls(check, written, value);
    if (equals(key, words[NAME])) {
        if (written->name || is_blank(value))
            return 1;
        PyObject *role = check->called == NULL ? NULL : PyDict_GetItemWithError(message, words[ROLE]);
        return role != NULL && equals(role, words[TOOL]) && PyUnicode_Check(value) ? PySet_Contains(check->called, value)
                                                                                  : 0;
    }
    if (with_reasoning &&
        (equals(key, words[REASONING_CONTENT]) || equals(key, words[REASONING]) || equals(key, words[THINKING])))
        return written->reasoning || is_blank(value);
    return 1;
}

static int writes_messages(Check *check, PyObject *messages, int with_reasoning)
{
    for (Py_ssize_t index = 0; index < check->count; index++) {
        PyObject *message = PyList_GetItem(messages, index), *key, *value;
        if (!PyDict_CheckExact(message))
            return 0;
        Py_ssize_t at = 0;
        while (PyDict_Next(message, &at, &key, &value)) {
            int found = writes_field(check, message, &check->messages[index], key, value, with_reasoning);
            if (found != 1)
                return found;
        }
    }
    return 1;
}

static int writes_items(const Check *check)
{
    for (Py_ssize_t at = 0; at < PyTuple_Size(check->items); at++) {
        int given = PyObject_IsTrue(PyTuple_GetItem(PyTuple_GetItem(check->items, at), 1));
        if (given < 0)
            return -1;
        if (given && !(check->written_items >> at & 1))
            return 0;
    }
    return 1;
}

PyObject *native_writes_all(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *messages, *items, *types, *words;
    int with_reasoning;
    if (!PyArg_ParseTuple(args, "O!O!O!pO!O!:writes_all", &PyList_Type, &pieces, &PyList_Type, &messages, &PyTuple_Type,
                          &items, &with_reasoning, &PyTuple_Type, &types, &PyTuple_Type, &words))
        return NULL;
    if (PyTuple_Size(types) != 3 || PyTuple_Size(words) != COUNT || PyTuple_Size(items) > 64) {
        PyErr_SetString(PyExc_TypeError, "writes_all needs three types and the words of its comparisons");
        return NULL;
    }
    PyObject *names[COUNT];
    for (Py_ssize_t at = 0; at < COUNT; at++)
        names[at] = PyTuple_GetItem(words, at);
    Written few[16];
    Py_ssize_t count = PyList_Size(messages);
    size_t size = (size_t)(count ? count : 1) * sizeof(Written);
    Check check = {.words = names, .count = count, .items = items, .written_items = 0, .called = NULL};
    check.messages = count <= 16 ? few : PyMem_Malloc(size);
    int found = -1;
    if (check.messages == NULL) {
        PyErr_NoMemory();
    } else {
        memset(check.messages, 0, size);
        if (note_pieces(&check, pieces, types) == 0) {
            found = writes_messages(&check, messages, with_reasoning);
            if (found == 1)
                found = writes_items(&check);
        }
    }
    if (check.messages != few)
        PyMem_Free(check.messages);
    Py_XDECREF(check.called);
    return found < 0 ? NULL : PyBool_FromLong(found);
}
