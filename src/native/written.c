/* Collect the fields with text in the output of a template.

   `renderers.templating.scopes` does the same in Python if this extension was not built. Attributes are those of its
   classes: slots, which run no Python code. */

#include "native.h"

/* Add the owners of the runs of a text. Return -1 on failure. */
static int add_runs(PyObject *fields, PyObject *runs)
{
    if (!PyTuple_Check(runs)) {
        PyErr_SetString(PyExc_TypeError, "the runs of a text are a tuple");
        return -1;
    }
    Py_ssize_t start = 0;
    for (Py_ssize_t at = 0; at < PyTuple_Size(runs); at++) {
        PyObject *run = PyTuple_GetItem(runs, at);
        if (!PyTuple_Check(run) || PyTuple_Size(run) != 2) {
            PyErr_SetString(PyExc_TypeError, "a run is an end and an owner");
            return -1;
        }
        Py_ssize_t end = PyLong_AsSsize_t(PyTuple_GetItem(run, 0));
        if (end == -1 && PyErr_Occurred())
            return -1;
        PyObject *owner = PyTuple_GetItem(run, 1);
        if (PyTuple_CheckExact(owner) && start < end && PySet_Add(fields, owner) < 0)
            return -1;
        start = end;
    }
    return 0;
}

PyObject *native_written_fields(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *types, *field_type, *mixed_type, *safe_type;
    if (!PyArg_ParseTuple(args, "O!O!:written_fields", &PyList_Type, &pieces, &PyTuple_Type, &types) ||
        !PyArg_ParseTuple(types, "OOO:written_fields", &field_type, &mixed_type, &safe_type))
        return NULL;
    PyObject *owner_name = PyUnicode_InternFromString("_owner"), *runs_name = PyUnicode_InternFromString("_runs");
    PyObject *fields = PySet_New(NULL);
    int failed = owner_name == NULL || runs_name == NULL || fields == NULL;
    for (Py_ssize_t at = 0; !failed && at < PyList_Size(pieces); at++) {
        PyObject *piece = PyList_GetItem(pieces, at), *type = (PyObject *)Py_TYPE(piece);
        if (type == field_type) {
            PyObject *owner = PyUnicode_GetLength(piece) > 0 ? PyObject_GetAttr(piece, owner_name) : NULL;
            failed = owner != NULL ? PySet_Add(fields, owner) < 0 : PyErr_Occurred() != NULL;
            Py_XDECREF(owner);
        } else if (type == mixed_type || type == safe_type) {
            PyObject *runs = PyObject_GetAttr(piece, runs_name);
            failed = runs == NULL || add_runs(fields, runs) < 0;
            Py_XDECREF(runs);
        }
    }
    Py_XDECREF(owner_name);
    Py_XDECREF(runs_name);
    if (failed)
        Py_CLEAR(fields);
    return fields;
}
