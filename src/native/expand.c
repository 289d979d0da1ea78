/* Repeat a column of runs of tokens for each of their tokens.

   `renderers.core.tokens` does the same in Python. */

#include "layout.h"

/* Return the end of a run with a column. -1 with an error if it is no run, or ends before the one before it. */
static Py_ssize_t end_of(PyObject *run, Py_ssize_t column, Py_ssize_t before)
{
    int is_run = PyTuple_Check(run) && column >= 0 && column < PyTuple_Size(run);
    PyObject *first = is_run ? PyTuple_GetItem(run, 0) : NULL;
    Py_ssize_t end = first != NULL && PyLong_CheckExact(first) ? PyLong_AsSsize_t(first) : -1;
    if (end >= before)
        return end;
    PyErr_Clear();
    PyErr_SetString(PyExc_ValueError, "runs must be tuples that begin with an end, in order");
    return -1;
}

/* Return a list with an item some times. */
static PyObject *repeated(PyObject *value, Py_ssize_t count)
{
    PyObject *single = PyList_New(1), *list = NULL;
    if (single != NULL && PyList_SetItem(single, 0, Py_NewRef(value)) == 0)
        list = PySequence_Repeat(single, count);
    Py_XDECREF(single);
    return list;
}

static inline void replace_item(PyObject **item, PyObject *value)
{
    PyObject *replaced = *item;
    *item = Py_NewRef(value);
    Py_DECREF(replaced);
}

PyObject *native_expand(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *runs, *filled = Py_None;
    Py_ssize_t column;
    if (!PyArg_ParseTuple(args, "O!n", &PyTuple_Type, &runs, &column))
        return NULL;
    Py_ssize_t count = PyTuple_Size(runs), end = 0, longest = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        Py_ssize_t next = end_of(run, column, end);
        if (next < 0)
            return NULL;
        if (next - end > longest) {
            longest = next - end;
            filled = PyTuple_GetItem(run, column);
        }
        end = next;
    }
    /* Python sets equal items in a fraction of the time that it takes to set each. The longest run usually has the item
       that most tokens have. */
    PyObject *values = repeated(filled, end);
    Py_ssize_t start = 0;
    const Layout known = layout;
    PyObject **items = values == NULL ? NULL : items_of_new_list(&known, values);
    for (Py_ssize_t at = 0; values != NULL && at < count; at++) {
        PyObject *run = PyTuple_GetItem(runs, at), *value = PyTuple_GetItem(run, column);
        Py_ssize_t next = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        for (; values != NULL && value != filled && start < next; start++)
            if (items != NULL)
                replace_item(&items[start], value);
            else if (PyList_SetItem(values, start, Py_NewRef(value)) < 0)
                Py_CLEAR(values);
        start = next;
    }
    return values;
}
