/* Convert lists of token ids to packed ids and back, and find a sequence in packed ids.

   `renderers.core.token_ids` does the same in Python. Packed ids are uint32. No Python code runs during a call. */

#include "ids.h"

#include <string.h>

PyObject *native_pack_ids(PyObject *Py_UNUSED(module), PyObject *ids)
{
    if (!PyList_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "ids must be a list");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(ids);
    if (count > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(uint32_t))
        return PyErr_NoMemory();
    PyObject *packed = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint32_t));
    if (packed == NULL)
        return NULL;
    char *bytes = PyBytes_AsString(packed);
    for (Py_ssize_t at = 0; at < count; at++) {
        uint32_t value;
        if (!read_id(PyList_GetItem(ids, at), &value)) {
            Py_DECREF(packed);
            return PyLong_FromSsize_t(at);
        }
        memcpy(bytes + (size_t)at * sizeof(value), &value, sizeof(value));
    }
    return packed;
}

/* Return a new reference to the object for a number: that of the table if it has room for it. */
static PyObject *number_of(uint32_t value, PyObject *numbers, Py_ssize_t size)
{
    if (value >= (size_t)size)
        return PyLong_FromUnsignedLong(value);
    PyObject *number = PyList_GetItem(numbers, (Py_ssize_t)value);
    if (number != Py_None) {
        Py_INCREF(number);
        return number;
    }
    number = PyLong_FromUnsignedLong(value);
    if (number != NULL) {
        Py_INCREF(number);
        if (PyList_SetItem(numbers, (Py_ssize_t)value, number) < 0)
            Py_CLEAR(number);
    }
    return number;
}

PyObject *native_unpack_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer packed;
    PyObject *numbers;
    if (!PyArg_ParseTuple(args, "y*O!:unpack_ids", &packed, &PyList_Type, &numbers))
        return NULL;
    Py_ssize_t count = packed.len / (Py_ssize_t)sizeof(uint32_t), size = PyList_Size(numbers);
    PyObject *ids = PyList_New(count);
    for (Py_ssize_t at = 0; ids != NULL && at < count; at++) {
        uint32_t value;
        memcpy(&value, (const char *)packed.buf + (size_t)at * sizeof(value), sizeof(value));
        PyObject *number = number_of(value, numbers, size);
        if (number == NULL || PyList_SetItem(ids, at, number) < 0)
            Py_CLEAR(ids);
    }
    PyBuffer_Release(&packed);
    return ids;
}

PyObject *native_find_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer packed, sequence;
    Py_ssize_t start;
    if (!PyArg_ParseTuple(args, "y*y*n:find_ids", &packed, &sequence, &start))
        return NULL;
    const size_t width = sizeof(uint32_t);
    const char *bytes = packed.buf;
    Py_ssize_t length = sequence.len / (Py_ssize_t)width, found = -1;
    Py_ssize_t last = packed.len / (Py_ssize_t)width - length;
    uint32_t first = 0;
    if (length > 0)
        memcpy(&first, sequence.buf, width);
    for (Py_ssize_t at = start < 0 ? 0 : start; length > 0 && at <= last; at++) {
        uint32_t value;
        memcpy(&value, bytes + (size_t)at * width, width);
        if (value == first && memcmp(bytes + (size_t)at * width, sequence.buf, (size_t)length * width) == 0) {
            found = at;
            break;
        }
    }
    PyBuffer_Release(&packed);
    PyBuffer_Release(&sequence);
    return PyLong_FromSsize_t(found);
}
