/* Find the first token that begins at a position or after it.

   `bisect_left` of Python does the same, but makes an object of each position that it compares. Up to Python 3.11, an
   allocation can run finalizers, which can change a list of positions. So its size is read again for each of them. */

#include "native.h"

#include <string.h>

static uint64_t position_at(const Py_buffer *positions, Py_ssize_t index)
{
    uint64_t position;
    memcpy(&position, (const char *)positions->buf + (size_t)index * sizeof(position), sizeof(position));
    return position;
}

/* Return the index of the first of some positions that is not below another one, between two indices. */
static Py_ssize_t first_from(const Py_buffer *positions, uint64_t position, Py_ssize_t low, Py_ssize_t high)
{
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (position_at(positions, middle) < position)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Return the same index in all positions. Most positions that are searched for are close to the one before, whose index
   is `last`. */
static Py_ssize_t first_near(const Py_buffer *positions, uint64_t position, Py_ssize_t last, Py_ssize_t size)
{
    Py_ssize_t low = last > 0 && position_at(positions, last - 1) >= position ? 0 : last, step = 1;
    while (step < size - low && position_at(positions, low + step) < position) {
        low += step;
        step *= 2;
    }
    return first_from(positions, position, low, step < size - low ? low + step : size);
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
    Py_ssize_t found = first_from(&positions, position, low, high);
    PyBuffer_Release(&positions);
    return PyLong_FromSsize_t(found);
}

PyObject *native_find_starts(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *wanted, *found = PyList_New(0);
    Py_buffer positions;
    if (found == NULL || !PyArg_ParseTuple(args, "y*O!", &positions, &PyList_Type, &wanted)) {
        Py_XDECREF(found);
        return NULL;
    }
    const Py_ssize_t size = positions.len / (Py_ssize_t)sizeof(uint64_t);
    Py_ssize_t last = 0;
    for (Py_ssize_t at = 0; found != NULL && at < PyList_Size(wanted); at++) {
        unsigned long long position = PyLong_AsUnsignedLongLong(PyList_GetItem(wanted, at));
        PyObject *index = NULL;
        if (position != (unsigned long long)-1 || !PyErr_Occurred()) {
            last = first_near(&positions, position, last, size);
            index = PyLong_FromSsize_t(last);
        }
        if (index == NULL || PyList_Append(found, index) < 0)
            Py_CLEAR(found);
        Py_XDECREF(index);
    }
    PyBuffer_Release(&positions);
    return found;
}
