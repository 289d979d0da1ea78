/* Cut a text at special tokens, and join the ids of its pieces.

   `renderers.tokenizer.encoding.encode` does the same in Python. Inputs are not trusted: nothing outside of them is
   read, whatever they hold. */

#include "native.h"

#include <string.h>

/* Return the place at an index of a match, or -1 if it is not a tuple with one there. */
static Py_ssize_t place_in(PyObject *match, Py_ssize_t index)
{
    PyObject *place = PyTuple_Check(match) && PyTuple_Size(match) == 3 ? PyTuple_GetItem(match, index) : NULL;
    Py_ssize_t number = place != NULL && PyLong_CheckExact(place) ? PyLong_AsSsize_t(place) : -1;
    PyErr_Clear();
    return number;
}

static int append_piece(PyObject *pieces, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    PyObject *piece = PyUnicode_Substring(text, start, end);
    int failed = piece == NULL || PyList_Append(pieces, piece);
    Py_XDECREF(piece);
    return failed ? -1 : 0;
}

PyObject *native_split_text(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text, *marks;
    if (!PyArg_ParseTuple(args, "UO!:split_text", &text, &PyList_Type, &marks))
        return NULL;
    Py_ssize_t count = PyList_Size(marks), length = PyUnicode_GetLength(text), last = 0;
    PyObject *borders = PyBytes_FromStringAndSize(NULL, (2 * count + 2) * (Py_ssize_t)sizeof(int64_t));
    PyObject *pieces = PyList_New(0);
    int failed = borders == NULL || pieces == NULL;
    int64_t *next = failed ? NULL : (int64_t *)PyBytes_AsString(borders);
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *mark = PyList_GetItem(marks, at);
        Py_ssize_t start = place_in(mark, 0), end = place_in(mark, 1);
        if (start < last || end < start || end > length) {
            PyErr_SetString(PyExc_ValueError, "matches must be in order and within the text");
            failed = 1;
            break;
        }
        *next++ = last;
        *next++ = start;
        failed = append_piece(pieces, text, last, start);
        last = end;
    }
    if (!failed) {
        *next++ = last;
        *next = length;
        failed = append_piece(pieces, text, last, length);
    }
    PyObject *result = failed ? NULL : PyTuple_Pack(2, borders, pieces);
    Py_XDECREF(borders);
    Py_XDECREF(pieces);
    return result;
}

/* Fill in the ids of matches. Return -1 on failure. */
static int find_ids(PyObject *marks, Py_ssize_t count, PyObject *added, uint32_t *ids)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *mark = PyList_GetItem(marks, at);
        if (mark == NULL || !PyTuple_Check(mark) || PyTuple_Size(mark) != 3) {
            PyErr_SetString(PyExc_TypeError, "a match must be a tuple of three");
            return -1;
        }
        PyObject *token = PyTuple_GetItem(mark, 2), *number = PyDict_GetItemWithError(added, token);
        if (number == NULL) {
            if (!PyErr_Occurred())
                PyErr_SetObject(PyExc_KeyError, token);
            return -1;
        }
        unsigned long id = PyLong_AsUnsignedLong(number);
        if (PyErr_Occurred())
            return -1;
        if (id > UINT32_MAX) {
            PyErr_SetString(PyExc_OverflowError, "an id has 32 bits");
            return -1;
        }
        ids[at] = (uint32_t)id;
    }
    return 0;
}

/* Return the number of ids of all pieces, or -1 on failure. */
static Py_ssize_t count_ids(PyObject *pieces, Py_ssize_t count)
{
    Py_ssize_t total = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *piece = at < PyList_Size(pieces) ? PyList_GetItem(pieces, at) : NULL;
        if (piece == NULL || !PyBytes_Check(piece) || PyBytes_Size(piece) % (Py_ssize_t)sizeof(uint32_t)) {
            PyErr_SetString(PyExc_TypeError, "a piece must be the bytes of ids");
            return -1;
        }
        total += PyBytes_Size(piece) / (Py_ssize_t)sizeof(uint32_t);
    }
    return total;
}

/* Write the ids of pieces and matches in turn, and the number of ids up to the end of each. */
static void write_ids(PyObject *pieces, const uint32_t *own, Py_ssize_t count, uint32_t *ids, int64_t *ends)
{
    int64_t written = 0;
    for (Py_ssize_t at = 0; at <= count; at++) {
        PyObject *piece = PyList_GetItem(pieces, at);
        Py_ssize_t size = PyBytes_Size(piece);
        memcpy(ids + written, PyBytes_AsString(piece), (size_t)size);
        *ends++ = written += size / (Py_ssize_t)sizeof(uint32_t);
        if (at < count) {
            ids[written++] = own[at];
            *ends++ = written;
        }
    }
}

PyObject *native_join_pieces(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *marks, *added, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!O!:join_pieces", &PyList_Type, &pieces, &PyList_Type, &marks, &PyDict_Type,
                          &added))
        return NULL;
    Py_ssize_t count = PyList_Size(marks);
    if (PyList_Size(pieces) != count + 1) {
        PyErr_SetString(PyExc_ValueError, "there must be one more piece than matches");
        return NULL;
    }
    uint32_t *own = PyMem_Malloc(((size_t)count + 1) * sizeof(uint32_t));
    if (own == NULL)
        return PyErr_NoMemory();
    /* A lookup may run Python code, so the pieces are checked after it. */
    Py_ssize_t total = find_ids(marks, count, added, own) < 0 ? -1 : count_ids(pieces, count + 1);
    if (total >= 0) {
        PyObject *ids = PyBytes_FromStringAndSize(NULL, (total + count) * (Py_ssize_t)sizeof(uint32_t));
        PyObject *ends = PyBytes_FromStringAndSize(NULL, (2 * count + 1) * (Py_ssize_t)sizeof(int64_t));
        if (ids != NULL && ends != NULL) {
            write_ids(pieces, own, count, (uint32_t *)PyBytes_AsString(ids), (int64_t *)PyBytes_AsString(ends));
            result = PyTuple_Pack(2, ids, ends);
        }
        Py_XDECREF(ids);
        Py_XDECREF(ends);
    }
    PyMem_Free(own);
    return result;
}
