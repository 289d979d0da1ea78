/* Find the owners of the parts of a template's output, and merge the parts to spans.

   `renderers.templating.scopes` does the same in Python if this extension was not built. Attributes are those of its
   classes: slots, which run no Python code. */

#include "native.h"

/* The names of the attributes, the types of the pieces of an output, and the parts that were found. */
typedef struct {
    PyObject *owner, *field_owner, *parent, *block, *runs, *body_messages;
    PyObject *scope_type, *branch_type, *text_type;
    PyObject *ends, *owners;
    PyObject *pending;  /* the indices of parts with a scope instead of an owner */
    PyObject *last;     /* the owner of the last part, borrowed from `owners` */
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

/* Note the message of an owner in a branch, and in all branches around it. Return -1 on failure. */
static int note_message(const Output *output, PyObject *block, PyObject *owner)
{
    long message = message_of(owner);
    if (message < 0)
        return message == -2 ? -1 : 0;
    PyObject *number = PyTuple_GetItem(owner, 0);
    PyObject *branch = Py_NewRef(block);
    while (branch != NULL && branch != Py_None) {
        PyObject *messages = PyObject_GetAttr(branch, output->body_messages);
        int known = messages == NULL ? -1 : PySet_Contains(messages, number);
        if (known == 0)
            known = PySet_Add(messages, number);
        Py_XDECREF(messages);
        /* Messages in a branch are also noted in those around it. */
        PyObject *parent = known == 0 ? PyObject_GetAttr(branch, output->parent) : NULL;
        Py_DECREF(branch);
        if (known != 0)
            return known < 0 ? -1 : 0;
        branch = parent == NULL || parent == Py_None ? Py_XNewRef(parent) : PyObject_GetAttr(parent, output->block);
        Py_XDECREF(parent);
    }
    Py_XDECREF(branch);
    return branch == NULL ? -1 : 0;
}

/* Note that the next part has a scope instead of an owner. Return -1 on failure. */
static int note_pending(Output *output)
{
    PyObject *index = PyLong_FromSsize_t(PyList_Size(output->owners));
    int failed = index == NULL || PyList_Append(output->pending, index) < 0;
    Py_XDECREF(index);
    return failed ? -1 : 0;
}

/* Add a part. Adjacent parts of the same owner object become one. Return -1 on failure. */
static int add_part(Output *output, Py_ssize_t end, PyObject *owner, int is_template)
{
    if (!PyTuple_Check(owner)) {
        if (output->last != owner && note_pending(output) < 0)
            return -1;
    } else if (!output->is_open) {
        long message = message_of(owner);
        if (message == -2)
            return -1;
        if (message >= 0) {
            output->is_open = 1;
            if (is_template)
                output->opening = PyList_Size(output->ends);
        }
    }
    PyObject *number = PyLong_FromSsize_t(end);
    if (number == NULL)
        return -1;
    if (output->last == owner)
        return PyList_SetItem(output->ends, PyList_Size(output->ends) - 1, number);
    int failed = PyList_Append(output->ends, number) < 0 || PyList_Append(output->owners, owner) < 0;
    Py_DECREF(number);
    output->last = owner;
    return failed ? -1 : 0;
}

/* Add the parts of a text with several owners that begins at an offset. Return -1 on failure. */
static int add_runs(Output *output, PyObject *text, Py_ssize_t offset, PyObject *current, PyObject *block)
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
                 (is_field && block != Py_None && note_message(output, block, owner) < 0) ||
                 add_part(output, offset + end, own, !is_field) < 0;
        Py_XDECREF(own);
    }
    Py_DECREF(runs);
    return failed ? -1 : 0;
}

/* Add the parts of all pieces. Return -1 on failure. */
static int add_pieces(Output *output, PyObject *pieces, PyObject *root)
{
    PyObject *current = Py_NewRef(root), *block = PyObject_GetAttr(root, output->block);
    Py_ssize_t offset = 0;
    int failed = block == NULL;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(pieces); at++) {
        PyObject *piece = Py_NewRef(PyList_GetItem(pieces, at));
        PyObject *type = (PyObject *)Py_TYPE(piece);
        if (type == output->scope_type || type == output->branch_type) {
            replace(&current, known_owner(output, piece));
            replace(&block, PyObject_GetAttr(piece, output->block));
            failed = current == NULL || block == NULL;
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
            failed = owner == NULL || (block != Py_None && note_message(output, block, owner) < 0) ||
                     add_part(output, offset, owner, 0) < 0;
            Py_XDECREF(owner);
        } else {
            failed = add_runs(output, piece, offset, current, block) < 0;
            offset += size;
        }
        Py_DECREF(piece);
    }
    Py_XDECREF(current);
    Py_XDECREF(block);
    return failed ? -1 : 0;
}

PyObject *native_output_parts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *root, *types;
    Output output = {.opening = -1};
    if (!PyArg_ParseTuple(args, "O!OO!:output_parts", &PyList_Type, &pieces, &root, &PyTuple_Type, &types) ||
        !PyArg_ParseTuple(types, "OOO:output_parts", &output.scope_type, &output.branch_type, &output.text_type))
        return NULL;
    output.owner = PyUnicode_InternFromString("owner");
    output.field_owner = PyUnicode_InternFromString("_owner");
    output.parent = PyUnicode_InternFromString("parent");
    output.block = PyUnicode_InternFromString("block");
    output.runs = PyUnicode_InternFromString("_runs");
    output.body_messages = PyUnicode_InternFromString("body_messages");
    output.ends = PyList_New(0);
    output.owners = PyList_New(0);
    output.pending = PyList_New(0);
    PyObject *result = NULL;
    if (output.owner && output.field_owner && output.parent && output.block && output.runs && output.body_messages &&
        output.ends && output.owners && output.pending && add_pieces(&output, pieces, root) == 0)
        result = Py_BuildValue("OOOn", output.ends, output.owners, output.pending, output.opening);
    Py_XDECREF(output.owner);
    Py_XDECREF(output.field_owner);
    Py_XDECREF(output.parent);
    Py_XDECREF(output.block);
    Py_XDECREF(output.runs);
    Py_XDECREF(output.body_messages);
    Py_XDECREF(output.ends);
    Py_XDECREF(output.owners);
    Py_XDECREF(output.pending);
    return result;
}

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
        span = finish_leaf(span, set_item(span, 0, Py_NewRef(begin)) || set_item(span, 1, Py_NewRef(end)) ||
                                     set_item(span, 2, Py_NewRef(PyTuple_GetItem(owner, 0))) ||
                                     set_item(span, 3, Py_NewRef(PyTuple_GetItem(owner, 1))));
    int failed = span == NULL || PyList_Append(spans->list, span) < 0;
    Py_XDECREF(span);
    return failed ? -1 : 0;
}

/* Append the spans of parts to a list. Parts without an owner belong to the message before them, at first to
   `message`. */
static int merge(const Spans *spans, PyObject *ends, PyObject *owners, PyObject *message)
{
    PyObject *nothing = PyTuple_New(0), *start = PyLong_FromLong(0);
    PyObject *previous = nothing == NULL ? NULL : PyTuple_Pack(2, message, nothing);
    PyObject *begin = Py_XNewRef(start), *last = NULL;
    int failed = nothing == NULL || start == NULL || previous == NULL;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(ends) && at < PyList_Size(owners); at++) {
        /* Up to Python 3.11, the allocation of a tuple can run finalizers, which can change the lists. */
        PyObject *own = Py_NewRef(PyList_GetItem(owners, at)), *end = Py_NewRef(PyList_GetItem(ends, at));
        if (own == Py_None) {
            replace(&own, Py_NewRef(previous));
        } else {
            long index = message_of(own);
            failed = index == -2;
            if (index >= 0) {
                PyObject *next = PyTuple_GetItem(previous, 0) == PyTuple_GetItem(own, 0)
                                     ? Py_NewRef(previous)
                                     : PyTuple_Pack(2, PyTuple_GetItem(own, 0), nothing);
                replace(&previous, next);
                failed = previous == NULL;
            }
        }
        int same = failed ? -1 : last == NULL ? 0 : PyObject_RichCompareBool(own, last, Py_EQ);
        if (same == 0) {
            failed = last != NULL && add_span(spans, begin, start, last) < 0;
            replace(&begin, Py_NewRef(start));
            replace(&last, Py_NewRef(own));
        }
        failed = failed || same < 0;
        Py_DECREF(own);
        replace(&start, end);
    }
    if (!failed && last != NULL)
        failed = add_span(spans, begin, start, last) < 0;
    Py_XDECREF(previous);
    Py_XDECREF(nothing);
    Py_XDECREF(start);
    Py_XDECREF(begin);
    Py_XDECREF(last);
    return failed ? -1 : 0;
}

PyObject *native_merge_parts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *ends, *owners, *message, *type;
    if (!PyArg_ParseTuple(args, "O!O!O!O:merge_parts", &PyList_Type, &ends, &PyList_Type, &owners, &PyLong_Type,
                          &message, &type))
        return NULL;
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of spans must be a subclass of tuple");
        return NULL;
    }
    Spans spans = {.list = PyList_New(0), .type = (PyTypeObject *)type};
    if (spans.list == NULL || merge(&spans, ends, owners, message) < 0)
        Py_CLEAR(spans.list);
    return spans.list;
}
