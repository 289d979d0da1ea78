/* Copy JSON data of exact types in all depths.

   `renderers.core.plain_json` does the same in Python if this extension was not built. Containers are copied first, and
   the copy is read: no Python code has a reference to it that could change it meanwhile. The garbage collector need not
   visit JSON data, because nothing in it leads back to it. */

#include "native.h"

#define DEEPEST 1000 /* levels that the stack of C has room for */

static PyObject *copy(PyObject *value, int depth, int untracked);

static PyObject *not_plain(void)
{
    return Py_NewRef(Py_NotImplemented);
}

static int is_scalar(PyObject *value)
{
    return PyUnicode_CheckExact(value) || value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
           PyFloat_CheckExact(value);
}

static PyObject *copy_dict(PyObject *value, int depth, int untracked)
{
    /* `PyDict_Copy` reads the dict before and after an allocation. Up to Python 3.11, that can run finalizers. */
    PyObject *copied = PyDict_New();
    if (copied == NULL || PyDict_Update(copied, value) < 0) {
        Py_XDECREF(copied);
        return NULL;
    }
    Py_ssize_t position = 0;
    PyObject *key, *item;
    while (PyDict_Next(copied, &position, &key, &item)) {
        if (!PyUnicode_CheckExact(key)) {
            Py_DECREF(copied);
            return not_plain();
        }
        if (is_scalar(item))
            continue;
        PyObject *inner = copy(item, depth - 1, untracked);
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

static PyObject *copy_list(PyObject *value, int depth, int untracked)
{
    PyObject *copied = PySequence_List(value);
    if (copied == NULL)
        return NULL;
    Py_ssize_t size = PyList_Size(copied);
    for (Py_ssize_t at = 0; at < size; at++) {
        PyObject *item = PyList_GetItem(copied, at);
        if (is_scalar(item))
            continue;
        PyObject *inner = copy(item, depth - 1, untracked);
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
static PyObject *copy(PyObject *value, int depth, int untracked)
{
    if (is_scalar(value))
        return Py_NewRef(value);
    if (depth <= 0)
        return not_plain();
    PyObject *copied = PyDict_CheckExact(value)                                 ? copy_dict(value, depth, untracked)
                       : PyList_CheckExact(value) || PyTuple_CheckExact(value) ? copy_list(value, depth, untracked)
                                                                               : not_plain();
    if (untracked && copied != NULL && PyObject_GC_IsTracked(copied))
        PyObject_GC_UnTrack(copied);
    return copied;
}

PyObject *native_copy_json(PyObject *module, PyObject *args)
{
    PyObject *value;
    int depth, untracked;
    (void)module;
    if (!PyArg_ParseTuple(args, "Oip", &value, &depth, &untracked))
        return NULL;
    return copy(value, depth < DEEPEST ? depth : DEEPEST, untracked);
}

PyObject *native_untrack(PyObject *Py_UNUSED(module), PyObject *value)
{
    if (PyObject_GC_IsTracked(value))
        PyObject_GC_UnTrack(value);
    return Py_NewRef(value);
}
