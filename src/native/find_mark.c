/* Find the next of some markers among the positions of all of them. `renderers.parsing.buffer` does the same in Python.

   Nothing is allocated before the result, so no code runs that could change the list of positions. */

#include "layout.h"

/* Return a position of a list. Return -1 with an exception. */
static Py_ssize_t mark_at(PyObject *marks, Py_ssize_t index)
{
    const Layout known = layout;
    PyObject *const *items = items_of_list(&known, marks);
    uint32_t digit;
    if (items != NULL && read_digit(&known, items[index], &digit))
        return (Py_ssize_t)digit;
    return PyLong_AsSsize_t(PyList_GetItem(marks, index));
}

/* Return a position of a list as the position in a text that begins at an offset. Return -1 with an exception. */
static Py_ssize_t position_in(PyObject *marks, Py_ssize_t index, Py_ssize_t offset)
{
    Py_ssize_t mark = mark_at(marks, index);
    if (mark >= offset)
        return mark - offset;
    if (mark != -1 || !PyErr_Occurred())
        PyErr_SetString(PyExc_ValueError, "a marker is before the text");
    return -1;
}

/* Return the index of the first position that is not below `start`. Return -1 with an exception. */
static Py_ssize_t first_from(PyObject *marks, Py_ssize_t start)
{
    Py_ssize_t low = 0, high = PyList_Size(marks);
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2, mark = mark_at(marks, middle);
        if (mark == -1 && PyErr_Occurred())
            return -1;
        if (mark < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

PyObject *native_find_mark(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 5 || !PyUnicode_Check(args[0]) || !PyList_Check(args[1]) || !PyUnicode_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "find_mark takes a text, a list, a text and 2 ints");
        return NULL;
    }
    PyObject *text = args[0], *marks = args[1], *characters = args[2];
    Py_ssize_t start = PyLong_AsSsize_t(args[3]), offset = PyLong_AsSsize_t(args[4]);
    if (PyErr_Occurred())
        return NULL;
    if (start < 0 || offset < 0 || start > PY_SSIZE_T_MAX - offset) {
        PyErr_SetString(PyExc_ValueError, "positions must not be negative");
        return NULL;
    }
    const Py_ssize_t size = PyUnicode_GetLength(characters);
    Py_ssize_t index = first_from(marks, start + offset);
    if (index < 0)
        return NULL;
    for (; index < PyList_Size(marks); index++) {
        Py_ssize_t position = position_in(marks, index, offset);
        Py_UCS4 character = position < 0 ? (Py_UCS4)-1 : PyUnicode_ReadChar(text, position);
        if (character == (Py_UCS4)-1)
            return NULL;
        if (PyUnicode_FindChar(characters, character, 0, size, 1) >= 0)
            return PyLong_FromSsize_t(position);
    }
    return PyLong_FromSsize_t(-1);
}
