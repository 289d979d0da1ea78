/* Find the owners of the parts of a template's output, and merge the parts to spans.

   `renderers.templating.scopes` does the same in Python if this extension was not built. Attributes are those of its
   classes: slots, which run no Python code. */

#include "native.h"

/* A part of the output: its end, and a reference to its owner, or to its scope if its owner is not known. */
typedef struct {
    Py_ssize_t end;
    PyObject *owner;
} Part;

/* The names of the attributes, the types of the pieces of an output, and the parts that were found. */
typedef struct {
    PyObject *owner, *field_owner, *parent, *runs, *body_messages;
    PyObject *scope_type, *branch_type, *text_type;
    Part *parts;
    Py_ssize_t count, room;
    Py_ssize_t opening; /* the index of the part that opens the first turn, or -1 */
    int is_open;        /* 1 after the first part of a message */
} Output;

static void replace(PyObject **variable, PyObject *value)
{
    PyObject *old = *variable;
    *variable = value;
    Py_XDECREF(old);
}

/* Return the index of the message of an owner, -1 for no message, or -2 with an exception if it is not an owner. */
static long message_of(PyObject *owner)
{
    if (!PyTuple_Check(owner) || PyTuple_Size(owner) != 2 || !PyLong_Check(PyTuple_GetItem(owner, 0))) {
        PyErr_SetString(PyExc_TypeError, "an owner is a message and a path");
        return -2;
    }
    long message = PyLong_AsLong(PyTuple_GetItem(owner, 0));
    if (message == -1 && PyErr_Occurred())
        return -2;
    return message >= 0 ? message : -1;
}

/* Return the owner of a scope that belongs to a message or to the prompt, else the scope. A new reference. */
static PyObject *known_owner(const Output *output, PyObject *scope)
{
    PyObject *inner = Py_NewRef(scope);
    while (inner != NULL && inner != Py_None) {
        PyObject *owner = PyObject_GetAttr(inner, output->owner);
        if (owner != Py_None) {
            Py_DECREF(inner);
            return owner;
        }
        Py_DECREF(owner);
        PyObject *parent = PyObject_GetAttr(inner, output->parent);
        Py_DECREF(inner);
        inner = parent;
    }
    if (inner == NULL)
        return NULL;
    Py_DECREF(inner);
    return Py_NewRef(scope);
}

/* Return the innermost branch around a scope, or the scope itself if it is one. None if there is no branch. */
static PyObject *branch_around(const Output *output, PyObject *scope)
{
    PyObject *inner = Py_NewRef(scope);
    while (inner != NULL && inner != Py_None && (PyObject *)Py_TYPE(inner) != output->branch_type)
        replace(&inner, PyObject_GetAttr(inner, output->parent));
    return inner;
}

/* Return the innermost branch around another one. None if there is no branch. */
static PyObject *next_branch(const Output *output, PyObject *branch)
{
    PyObject *parent = PyObject_GetAttr(branch, output->parent);
    PyObject *next = parent == NULL ? NULL : branch_around(output, parent);
    Py_XDECREF(parent);
    return next;
}

/* Note the message of an owner in a branch, and in all branches around it. Return -1 on failure. */
static int note_message(const Output *output, PyObject *innermost, PyObject *owner)
{
    long message = message_of(owner);
    if (message < 0)
        return message == -2 ? -1 : 0;
    PyObject *number = PyTuple_GetItem(owner, 0);
    PyObject *branch = Py_NewRef(innermost);
    while (branch != NULL && branch != Py_None) {
        PyObject *messages = PyObject_GetAttr(branch, output->body_messages);
        int known = messages == NULL ? -1 : PySet_Contains(messages, number);
        if (known == 0)
            known = PySet_Add(messages, number);
        Py_XDECREF(messages);
        /* Messages in a branch are also noted in those around it. */
        replace(&branch, known < 0 ? NULL : known > 0 ? Py_NewRef(Py_None) : next_branch(output, branch));
    }
    Py_XDECREF(branch);
    return branch == NULL ? -1 : 0;
}

static int make_room(Output *output)
{
    if (output->count < output->room)
        return 0;
    size_t room = 2 * (size_t)output->room + 64;
    Part *parts = PyMem_Realloc(output->parts, room * sizeof(Part));
    if (parts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    output->parts = parts;
    output->room = (Py_ssize_t)room;
    return 0;
}

/* Add a part. Adjacent parts of the same owner object become one. Return -1 on failure. */
static int add_part(Output *output, Py_ssize_t end, PyObject *owner, int is_template)
{
    if (output->count && output->parts[output->count - 1].owner == owner) {
        output->parts[output->count - 1].end = end;
        return 0;
    }
    if (PyTuple_Check(owner) && !output->is_open) {
        long message = message_of(owner);
        if (message == -2)
            return -1;
        if (message >= 0) {
            output->is_open = 1;
            if (is_template)
                output->opening = output->count;
        }
    }
    if (make_room(output) < 0)
        return -1;
    output->parts[output->count++] = (Part){end, Py_NewRef(owner)};
    return 0;
}

/* Add the parts of a text with several owners that begins at an offset. Return -1 on failure. */
static int add_runs(Output *output, PyObject *text, Py_ssize_t offset, PyObject *current, PyObject *branch)
{
    PyObject *runs = PyObject_GetAttr(text, output->runs);
    if (runs == NULL)
        return -1;
    int failed = !PyTuple_Check(runs);
    if (failed)
        PyErr_SetString(PyExc_TypeError, "the runs of a text are a tuple");
    for (Py_ssize_t at = 0; !failed && at < PyTuple_Size(runs); at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        if (!PyTuple_Check(run) || PyTuple_Size(run) != 2) {
            PyErr_SetString(PyExc_TypeError, "a run is an end and an owner");
            failed = 1;
            break;
        }
        Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        PyObject *owner = PyTuple_GetItem(run, 1);
        int is_field = PyTuple_Check(owner);
        PyObject *own = is_field             ? Py_NewRef(owner)
                        : owner == Py_None   ? Py_NewRef(current)
                                             : known_owner(output, owner);
        failed = (end == -1 && PyErr_Occurred()) || own == NULL ||
                 (is_field && branch != Py_None && note_message(output, branch, owner) < 0) ||
                 add_part(output, offset + end, own, !is_field) < 0;
        Py_XDECREF(own);
    }
    Py_DECREF(runs);
    return failed ? -1 : 0;
}

/* Add the parts of all pieces. Return -1 on failure. */
static int add_pieces(Output *output, PyObject *pieces, PyObject *root)
{
    PyObject *current = Py_NewRef(root), *branch = branch_around(output, root);
    Py_ssize_t offset = 0;
    int failed = branch == NULL;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(pieces); at++) {
        PyObject *piece = Py_NewRef(PyList_GetItem(pieces, at));
        PyObject *type = (PyObject *)Py_TYPE(piece);
        if (type == output->scope_type || type == output->branch_type) {
            replace(&current, known_owner(output, piece));
            replace(&branch, branch_around(output, piece));
            failed = current == NULL || branch == NULL;
            Py_DECREF(piece);
            continue;
        }
        Py_ssize_t size = PyUnicode_Check(piece) ? PyUnicode_GetLength(piece) : -1;
        if (size < 0) {
            PyErr_SetString(PyExc_TypeError, "the pieces of an output are texts");
            failed = 1;
        } else if (PyUnicode_CheckExact(piece)) {
            offset += size;
            failed = size > 0 && add_part(output, offset, current, 1) < 0;
        } else if (type == output->text_type) {
            offset += size;
            PyObject *owner = PyObject_GetAttr(piece, output->field_owner);
            failed = owner == NULL || (branch != Py_None && note_message(output, branch, owner) < 0) ||
                     add_part(output, offset, owner, 0) < 0;
            Py_XDECREF(owner);
        } else {
            failed = add_runs(output, piece, offset, current, branch) < 0;
            offset += size;
        }
        Py_DECREF(piece);
    }
    Py_XDECREF(current);
    Py_XDECREF(branch);
    return failed ? -1 : 0;
}

/* ==================
   Owners of scopes
   ================== */

/* Return the only item of a set as an owner of template text. */
static PyObject *owner_of_only(PyObject *messages)
{
    PyObject *items = PyObject_GetIter(messages), *message = items == NULL ? NULL : PyIter_Next(items);
    PyObject *nothing = PyTuple_New(0);
    PyObject *owner = message == NULL || nothing == NULL ? NULL : PyTuple_Pack(2, message, nothing);
    if (owner == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_TypeError, "the messages of a branch must be a set");
    Py_XDECREF(items);
    Py_XDECREF(message);
    Py_XDECREF(nothing);
    return owner;
}

/* Return the only message with field text in a branch around a scope, as an owner; None if there is none. */
static PyObject *scope_owner(const Output *output, PyObject *scope)
{
    PyObject *branch = branch_around(output, scope), *owner = NULL;
    while (owner == NULL && branch != NULL && branch != Py_None) {
        PyObject *messages = PyObject_GetAttr(branch, output->body_messages);
        Py_ssize_t count = messages == NULL ? -1 : PySet_Size(messages);
        if (count == 1)
            owner = owner_of_only(messages);
        Py_XDECREF(messages);
        replace(&branch, count < 0 || count == 1 ? NULL : next_branch(output, branch));
    }
    if (owner == NULL && branch == Py_None)
        return branch;
    Py_XDECREF(branch);
    return owner;
}

/* Replace the scopes of parts by their owners, or by None. Return -1 on failure. */
static int settle_scopes(Output *output)
{
    /* Many parts have the same scope, such as those of tools. */
    PyObject *scope = NULL, *owner = NULL;
    int failed = 0;
    for (Py_ssize_t at = 0; !failed && at < output->count; at++) {
        Part *part = &output->parts[at];
        if (PyTuple_Check(part->owner))
            continue;
        if (part->owner != scope) {
            replace(&owner, scope_owner(output, part->owner));
            replace(&scope, Py_NewRef(part->owner));
        }
        failed = owner == NULL;
        if (!failed)
            replace(&part->owner, Py_NewRef(owner));
    }
    Py_XDECREF(scope);
    Py_XDECREF(owner);
    return failed ? -1 : 0;
}

/* Return 1 if owners are equal, 0 if not, -1 on failure. */
static int same_owner(PyObject *one, PyObject *other)
{
    if (one == other)
        return 1;
    /* Most neighbours are text of the template and a field. */
    if (one != Py_None && other != Py_None) {
        PyObject *path = PyTuple_GetItem(one, 1), *other_path = PyTuple_GetItem(other, 1);
        if (path != NULL && other_path != NULL && PyTuple_Check(path) && PyTuple_Check(other_path) &&
            PyTuple_Size(path) != PyTuple_Size(other_path))
            return 0;
        PyErr_Clear();
    }
    return PyObject_RichCompareBool(one, other, Py_EQ);
}

/* Return 1 if the template text of a message that begins at a part is not blank, 0 if it is, -1 on failure. All adjacent
   template text of the message counts, so that it does not matter how the output is cut into pieces. */
static int is_text(const Output *output, Py_ssize_t first, PyObject *text)
{
    Py_ssize_t last = first;
    int same = 1;
    while (last + 1 < output->count &&
           (same = same_owner(output->parts[last + 1].owner, output->parts[first].owner)) > 0)
        last++;
    if (same < 0)
        return -1;
    PyObject *part = PyUnicode_Substring(text, first ? output->parts[first - 1].end : 0, output->parts[last].end);
    PyObject *is_space = part == NULL ? NULL : PyObject_CallMethod(part, "isspace", NULL);
    int result = is_space == NULL ? -1 : is_space != Py_True;
    Py_XDECREF(part);
    Py_XDECREF(is_space);
    return result;
}

/* Fill in the message that text before the first message belongs to, -1 for none: the first message if it has one of the
   leading roles, and does not open the turn itself. Return -1 on failure. */
static int find_leading(const Output *output, PyObject *text, PyObject *roles, PyObject *leading, long *found)
{
    Py_ssize_t first = 0;
    long message = -1;
    while (first < output->count && message < 0) {
        PyObject *owner = output->parts[first].owner;
        message = owner == Py_None ? -1 : message_of(owner);
        if (message == -2)
            return -1;
        first += message < 0;
    }
    *found = -1;
    if (message < 0)
        return 0;
    int opens = first == output->opening ? is_text(output, first, text) : 0;
    PyObject *role = opens < 0 ? NULL : PyList_GetItem(roles, message);
    if (role == NULL)
        return -1;
    int leads = opens || !PyUnicode_Check(role) ? 0 : PySet_Contains(leading, role);
    if (leads > 0)
        *found = message;
    return leads < 0 ? -1 : 0;
}

/* ==================
   Spans
   ================== */

/* A list of spans, and their type. */
typedef struct {
    PyObject *list;
    PyTypeObject *type;
} Spans;

/* Append a span to a list. Return -1 on failure. */
static int add_span(const Spans *spans, PyObject *begin, PyObject *end, PyObject *owner)
{
    PyObject *span = new_tuple(spans->type, 4);
    if (span != NULL)
        span = finish_leaf(span, set_item(span, 0, Py_NewRef(begin)) || set_item(span, 1, Py_XNewRef(end)) ||
                                     set_item(span, 2, Py_NewRef(PyTuple_GetItem(owner, 0))) ||
                                     set_item(span, 3, Py_NewRef(PyTuple_GetItem(owner, 1))));
    int failed = span == NULL || PyList_Append(spans->list, span) < 0;
    Py_XDECREF(span);
    return failed ? -1 : 0;
}

/* Append the spans of parts to a list. Parts without an owner belong to the message before them, at first to
   `message`. */
static int merge(const Spans *spans, const Output *output, long message)
{
    PyObject *nothing = PyTuple_New(0), *begin = PyLong_FromLong(0), *number = PyLong_FromLong(message);
    PyObject *previous = nothing == NULL || number == NULL ? NULL : PyTuple_Pack(2, number, nothing);
    PyObject *last = NULL;
    int failed = begin == NULL || previous == NULL;
    for (Py_ssize_t at = 0; !failed && at < output->count; at++) {
        PyObject *own = output->parts[at].owner == Py_None ? previous : output->parts[at].owner;
        long index = message_of(own);
        int same = index == -2 ? -1 : last == NULL ? 0 : same_owner(own, last);
        if (same == 0 && last != NULL) {
            PyObject *end = PyLong_FromSsize_t(output->parts[at - 1].end);
            failed = add_span(spans, begin, end, last) < 0;
            replace(&begin, end);
        }
        if (same == 0)
            replace(&last, Py_NewRef(own));
        failed = failed || same < 0;
        if (!failed && index >= 0 && PyTuple_GetItem(previous, 0) != PyTuple_GetItem(own, 0)) {
            replace(&previous, PyTuple_Pack(2, PyTuple_GetItem(own, 0), nothing));
            failed = previous == NULL;
        }
    }
    if (!failed && last != NULL) {
        PyObject *end = PyLong_FromSsize_t(output->parts[output->count - 1].end);
        failed = add_span(spans, begin, end, last) < 0;
        Py_XDECREF(end);
    }
    Py_XDECREF(nothing);
    Py_XDECREF(begin);
    Py_XDECREF(number);
    Py_XDECREF(previous);
    Py_XDECREF(last);
    return failed ? -1 : 0;
}

/* Return the spans of an output as a list. */
static PyObject *settle(Output *output, PyObject *args)
{
    PyObject *text, *pieces, *root, *roles, *leading, *types, *type;
    if (!PyArg_ParseTuple(args, "UO!OO!O!O!:settle", &text, &PyList_Type, &pieces, &root, &PyList_Type, &roles,
                          &PyFrozenSet_Type, &leading, &PyTuple_Type, &types) ||
        !PyArg_ParseTuple(types, "OOOO!:settle", &output->scope_type, &output->branch_type, &output->text_type,
                          &PyType_Type, &type))
        return NULL;
    Spans spans = {.type = (PyTypeObject *)type};
    if (!PyType_IsSubtype(spans.type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of spans must be a subclass of tuple");
        return NULL;
    }
    long message;
    if (add_pieces(output, pieces, root) < 0 || settle_scopes(output) < 0 ||
        find_leading(output, text, roles, leading, &message) < 0)
        return NULL;
    spans.list = PyList_New(0);
    if (spans.list != NULL && merge(&spans, output, message) < 0)
        Py_CLEAR(spans.list);
    return spans.list;
}

PyObject *native_settle(PyObject *Py_UNUSED(module), PyObject *args)
{
    Output output = {.opening = -1};
    output.owner = PyUnicode_InternFromString("owner");
    output.field_owner = PyUnicode_InternFromString("_owner");
    output.parent = PyUnicode_InternFromString("parent");
    output.runs = PyUnicode_InternFromString("_runs");
    output.body_messages = PyUnicode_InternFromString("body_messages");
    PyObject *result = NULL;
    if (output.owner && output.field_owner && output.parent && output.runs && output.body_messages)
        result = settle(&output, args);
    for (Py_ssize_t at = 0; at < output.count; at++)
        Py_DECREF(output.parts[at].owner);
    PyMem_Free(output.parts);
    Py_XDECREF(output.owner);
    Py_XDECREF(output.field_owner);
    Py_XDECREF(output.parent);
    Py_XDECREF(output.runs);
    Py_XDECREF(output.body_messages);
    return result;
}
