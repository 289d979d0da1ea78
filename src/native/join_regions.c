/* Join the regions of a completion to parts. `renderers.parsing.collected_turn` does the same in Python. */

#include "native.h"

/* Append a part to a list, unless it has no token. Return -1 with an exception. */
static int append_part(PyObject *parts, PyTypeObject *type, PyObject *region, Py_ssize_t start, Py_ssize_t end)
{
    if (start >= end)
        return 0;
    PyObject *part = new_tuple(type, 3);
    if (part != NULL)
        part = finish_leaf(part, set_item(part, 0, Py_NewRef(region)) || set_item(part, 1, PyLong_FromSsize_t(start)) ||
                                     set_item(part, 2, PyLong_FromSsize_t(end)));
    int failed = part == NULL || PyList_Append(parts, part) < 0;
    Py_XDECREF(part);
    return failed ? -1 : 0;
}

/* Append all parts to a list. Return -1 with an exception. */
static int join(PyObject *regions, PyObject *tokens, PyObject *first, PyTypeObject *type, PyObject *parts)
{
    PyObject *region = first;
    Py_ssize_t start = 0, end = 0;
    for (Py_ssize_t at = 0; at < PyList_Size(tokens); at++) {
        PyObject *next = PyList_GetItem(regions, at);
        Py_ssize_t token = PyLong_AsSsize_t(PyList_GetItem(tokens, at));
        if (token == -1 && PyErr_Occurred())
            return -1;
        if (token <= end)
            continue;
        if (next != region) {
            if (append_part(parts, type, region, start, end) < 0)
                return -1;
            region = next;
            start = end;
        }
        end = token;
    }
    return append_part(parts, type, region, start, end);
}

PyObject *native_join_regions(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *regions, *tokens, *first, *type, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!OO!:join_regions", &PyList_Type, &regions, &PyList_Type, &tokens, &first,
                          &PyType_Type, &type))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "parts must be tuples");
        return NULL;
    }
    PyObject *own_regions = copy_of_list(regions), *own_tokens = copy_of_list(tokens), *parts = PyList_New(0);
    if (own_regions != NULL && own_tokens != NULL && parts != NULL) {
        if (PyList_Size(own_regions) != PyList_Size(own_tokens))
            PyErr_SetString(PyExc_ValueError, "each region must have the token after it");
        else if (join(own_regions, own_tokens, first, (PyTypeObject *)type, parts) == 0)
            result = PyList_AsTuple(parts);
    }
    Py_XDECREF(own_regions);
    Py_XDECREF(own_tokens);
    Py_XDECREF(parts);
    return result;
}
