/* Find the first token that begins at a position or after it.

   `bisect_left` of Python does the same, but makes an object of each position that it compares. */

#include "native.h"

#include <string.h>

static uint64_t position_at(const Py_buffer *positions, Py_ssize_t index)
{
    uint64_t position;
    memcpy(&position, (const char *)positions->buf + (size_t)index * sizeof(position), sizeof(position));
    return position;
}

PyObject *native_find_start(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 4) {
        PyErr_SetString(PyExc_TypeError, "find_start takes 4 arguments");
        return NULL;
    }
    unsigned long long position = PyLong_AsUnsignedLongLong(args[1]);
    if (position == (unsigned long long)-1 && PyErr_Occurred())
        return NULL;
    Py_ssize_t low = PyLong_AsSsize_t(args[2]), high = PyLong_AsSsize_t(args[3]);
    if (PyErr_Occurred())
        return NULL;
    Py_buffer positions;
    if (PyObject_GetBuffer(args[0], &positions, PyBUF_SIMPLE) < 0)
        return NULL;
    if (low < 0 || high > positions.len / (Py_ssize_t)sizeof(uint64_t)) {
        PyBuffer_Release(&positions);
        PyErr_SetString(PyExc_ValueError, "the bounds must be within the positions");
        return NULL;
    }
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (position_at(&positions, middle) < position)
            low = middle + 1;
        else
            high = middle;
    }
    PyBuffer_Release(&positions);
    return PyLong_FromSsize_t(low);
}
