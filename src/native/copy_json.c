/* Copy JSON data of exact types in all depths.

   `renderers.core.plain_json` does the same in Python if this extension was not built. Containers are copied first, and
   the copy is read: no Python code has a reference to it that could change it meanwhile. */

#include "native.h"

#define DEEPEST 1000 /* levels that the stack of C has room for */

static PyObject *copy(PyObject *value, int depth);

static PyObject *not_plain(void)
{
    return Py_NewRef(Py_NotImplemented);
}

static int is_scalar(PyObject *value)
{
    return PyUnicode_CheckExact(value) || value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
           PyFloat_CheckExact(value);
}

static PyObject *copy_dict(PyObject *value, int depth)
{
    PyObject *copied = PyDict_Copy(value);
    if (copied == NULL)
        return NULL;
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(copied, &position, &key, &item)) {
        if (!PyUnicode_CheckExact(key)) {
            Py_DECREF(copied);
            return not_plain();
        }
        if (is_scalar(item))
            continue;
        PyObject *inner = copy(item, depth - 1);
        if (inner == NULL || inner == Py_NotImplemented) {
            Py_DECREF(copied);
            return inner;
        }
        /* The key exists, so the table keeps its size. */
        int failed = PyDict_SetItem(copied, key, inner);
        Py_DECREF(inner);
        if (failed) {
            Py_DECREF(copied);
            return NULL;
        }
    }
    return copied;
}

static PyObject *copy_list(PyObject *value, int depth)
{
    PyObject *copied = PySequence_List(value);
    if (copied == NULL)
        return NULL;
    Py_ssize_t size = PyList_Size(copied);
    for (Py_ssize_t at = 0; at < size; at++) {
        PyObject *item = PyList_GetItem(copied, at);
        if (is_scalar(item))
            continue;
        PyObject *inner = copy(item, depth - 1);
        if (inner == NULL || inner == Py_NotImplemented) {
            Py_DECREF(copied);
            return inner;
        }
        if (PyList_SetItem(copied, at, inner)) {
            Py_DECREF(copied);
            return NULL;
        }
    }
    return copied;
}

/* Return a copy, or NotImplemented if the value is not plain. */
static PyObject *copy(PyObject *value, int depth)
{
    if (is_scalar(value))
        return Py_NewRef(value);
    if (depth <= 0)
        return not_plain();
    if (PyDict_CheckExact(value))
        return copy_dict(value, depth);
    if (PyList_CheckExact(value) || PyTuple_CheckExact(value))
        return copy_list(value, depth);
    return not_plain();
}

PyObject *native_copy_json(PyObject *module, PyObject *args)
{
    PyObject *value;
    int depth;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oi", &value, &depth))
        return NULL;
    return copy(value, depth < DEEPEST ? depth : DEEPEST);
}
