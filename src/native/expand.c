/* Repeat a column of runs of tokens for each of their tokens.

   `renderers.core.tokens` does the same in Python. */

#include "native.h"

PyObject *native_expand(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *runs;
    Py_ssize_t column;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &runs, &column))
        return NULL;
    Py_ssize_t count = PyTuple_Size(runs), end = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        int is_run = PyTuple_Check(run) && column >= 0 && column < PyTuple_Size(run);
        PyObject *first = is_run ? PyTuple_GetItem(run, 0) : NULL;
        Py_ssize_t next = first != NULL && PyLong_CheckExact(first) ? PyLong_AsSsize_t(first) : -1;
        if (next < end) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "runs must be tuples that begin with an end, in order");
            return NULL;
        }
        end = next;
    }
    PyObject *values = PyList_New(end);
    Py_ssize_t token = 0;
    for (Py_ssize_t at = 0; values != NULL && at < count; at++) {
        PyObject *run = PyTuple_GetItem(runs, at), *value = PyTuple_GetItem(run, column);
        for (Py_ssize_t next = PyLong_AsSsize_t(PyTuple_GetItem(run, 0)); token < next; token++)
            PyList_SetItem(values, token, Py_NewRef(value));
    }
    return values;
}
