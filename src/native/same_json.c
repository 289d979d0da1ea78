/* Compare JSON data of exact types: equal values, equal types, and keys in the same order.

   `renderers.core.plain_json` does the same in Python if this extension was not built. Only values of exact types are
   compared, so no Python code runs during the call, and the inputs cannot change. */

#include "native.h"

#include <string.h>

#define DEEPEST 1000 /* levels that the stack of C has room for */

static int same(PyObject *value, PyObject *other, int depth);

static int same_float(PyObject *value, PyObject *other)
{
    double numbers[2] = {PyFloat_AsDouble(value), PyFloat_AsDouble(other)};
    return memcmp(&numbers[0], &numbers[1], sizeof(double)) == 0;
}

static int same_dict(PyObject *value, PyObject *other, int depth)
{
    if (PyDict_Size(value) != PyDict_Size(other))
        return 0;
    Py_ssize_t position = 0, other_position = 0;
    PyObject *key, *item, *other_key, *other_item;
    while (PyDict_Next(value, &position, &key, &item)) {
        if (!PyDict_Next(other, &other_position, &other_key, &other_item))
            return 0;
        if (!PyUnicode_CheckExact(key) || !PyUnicode_CheckExact(other_key))
            return 0;
        if (key != other_key && PyUnicode_Compare(key, other_key) != 0)
            return 0;
        if (!same(item, other_item, depth - 1))
            return 0;
    }
    return 1;
}

static int same_list(PyObject *value, PyObject *other, int depth)
{
    Py_ssize_t size = PyList_Size(value);
    if (size != PyList_Size(other))
        return 0;
    for (Py_ssize_t at = 0; at < size; at++)
        if (!same(PyList_GetItem(value, at), PyList_GetItem(other, at), depth - 1))
            return 0;
    return 1;
}

/* Return 1 if two values are the same, 0 if they are not or cannot be compared. */
static int same(PyObject *value, PyObject *other, int depth)
{
    if (Py_TYPE(value) != Py_TYPE(other))
        return 0;
    if (PyUnicode_CheckExact(value))
        return value == other || PyUnicode_Compare(value, other) == 0;
    if (value == Py_None || PyBool_Check(value))
        return value == other;
    if (PyLong_CheckExact(value))
        return PyObject_RichCompareBool(value, other, Py_EQ) == 1;
    if (PyFloat_CheckExact(value))
        return same_float(value, other);
    if (depth <= 0)
        return 0;
    if (PyDict_CheckExact(value))
        return same_dict(value, other, depth);
    return PyList_CheckExact(value) && same_list(value, other, depth);
}

PyObject *native_same_json(PyObject *module, PyObject *args)
{
    PyObject *value, *plain;
    (void)module;
    if (!PyArg_ParseTuple(args, "OO", &value, &plain))
        return NULL;
    int result = same(value, plain, DEEPEST);
    return PyErr_Occurred() ? NULL : PyBool_FromLong(result);
}
