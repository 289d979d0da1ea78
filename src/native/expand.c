/* Repeat a column of runs of tokens for each of their tokens.

   `renderers.core.tokens` does the same in Python. */

#include "native.h"

#define LONG 48 /* the tokens from which one call for a run is faster than a call for each */

/* Append a value to a list a number of times. Return -1 on failure. */
static int append_times(PyObject *values, PyObject *value, Py_ssize_t times)
{
    if (times < LONG) {
        for (; times > 0; times--)
            if (PyList_Append(values, value) < 0)
                return -1;
        return 0;
    }
    PyObject *one = PyList_New(0);
    PyObject *all = one == NULL || PyList_Append(one, value) < 0 ? NULL : PySequence_Repeat(one, times);
    PyObject *same = all == NULL ? NULL : PySequence_InPlaceConcat(values, all);
    Py_XDECREF(one);
    Py_XDECREF(all);
    Py_XDECREF(same);
    return same == NULL ? -1 : 0;
}

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
    PyObject *values = PyList_New(0);
    Py_ssize_t token = 0;
    for (Py_ssize_t at = 0; values != NULL && at < count; at++) {
        PyObject *run = PyTuple_GetItem(runs, at), *value = PyTuple_GetItem(run, column);
        /* Runs that differ only in other columns are as one. */
        if (at + 1 < count && PyTuple_GetItem(PyTuple_GetItem(runs, at + 1), column) == value)
            continue;
        Py_ssize_t next = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        if (append_times(values, value, next - token) < 0)
            Py_CLEAR(values);
        token = next;
    }
    return values;
}
