/* Cut a text at special tokens, and join the ids of its pieces.

   `renderers.tokenizer.encoding.encode` does the same in Python. Inputs are not trusted: nothing outside of them is
   read, whatever they hold. */

#include "pieces.h"

#include <string.h>

Py_ssize_t place_in(PyObject *match, Py_ssize_t index)
{
    PyObject *place = PyTuple_Check(match) && PyTuple_Size(match) == 3 ? PyTuple_GetItem(match, index) : NULL;
    Py_ssize_t number = place != NULL && PyLong_CheckExact(place) ? PyLong_AsSsize_t(place) : -1;
    PyErr_Clear();
    return number;
}

/* Append a part of a text, unless it is empty. Return -1 on failure. */
static int append_piece(PyObject *pieces, PyObject *text, Py_ssize_t start, Py_ssize_t end)
{
    if (start == end)
        return 0;
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
    /* Up to Python 3.11, the allocation of a list can run finalizers, which can change the matches. */
    PyObject *pieces = PyList_New(0);
    Py_ssize_t count = PyList_Size(marks), length = PyUnicode_GetLength(text), last = 0;
    PyObject *borders = PyBytes_FromStringAndSize(NULL, (2 * count + 2) * (Py_ssize_t)sizeof(int64_t));
    int failed = borders == NULL || pieces == NULL;
    int64_t *next = failed ? NULL : (int64_t *)PyBytes_AsString(borders);
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *mark = PyList_GetItem(marks, at);
        Py_ssize_t start = place_in(mark, 0), end = start < last ? -1 : place_in(mark, 1);
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

int find_id(PyObject *mark, PyObject *added, uint32_t *id)
{
    if (!PyTuple_Check(mark) || PyTuple_Size(mark) != 3) {
        PyErr_SetString(PyExc_TypeError, "a match must be a tuple of three");
        return -1;
    }
    PyObject *token = Py_NewRef(PyTuple_GetItem(mark, 2)), *number = PyDict_GetItemWithError(added, token);
    if (number == NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, token);
    Py_DECREF(token);
    if (number == NULL)
        return -1;
    unsigned long value = PyLong_AsUnsignedLong(number);
    if (PyErr_Occurred())
        return -1;
    if (value > UINT32_MAX) {
        PyErr_SetString(PyExc_OverflowError, "an id has 32 bits");
        return -1;
    }
    *id = (uint32_t)value;
    return 0;
}

/* Fill in the ids of matches. Return -1 on failure. */
static int find_ids(PyObject *marks, Py_ssize_t count, PyObject *added, uint32_t *ids)
{
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *mark = PyList_GetItem(marks, at);
        if (mark == NULL || find_id(mark, added, &ids[at]) < 0)
            return -1;
    }
    return 0;
}

/* The parts of a text: `count` matches, the places between all parts, and the ids of the parts that are no matches. */
typedef struct {
    Py_ssize_t count;
    const int64_t *borders;
    PyObject *pieces; /* a list */
    Py_ssize_t first; /* the piece of the first part that is not empty */
} Parts;

static int is_empty(const Parts *parts, Py_ssize_t at)
{
    return parts->borders[2 * at] >= parts->borders[2 * at + 1];
}

/* Return the number of ids of all pieces, or -1 on failure. */
static Py_ssize_t count_ids(const Parts *parts)
{
    Py_ssize_t total = 0, next = parts->first;
    for (Py_ssize_t at = 0; at <= parts->count; at++) {
        if (is_empty(parts, at))
            continue;
        PyObject *piece = next < PyList_Size(parts->pieces) ? PyList_GetItem(parts->pieces, next++) : NULL;
        if (piece == NULL || !PyBytes_Check(piece) || PyBytes_Size(piece) % (Py_ssize_t)sizeof(uint32_t)) {
            PyErr_SetString(PyExc_TypeError, "each part of the text needs the bytes of its ids");
            return -1;
        }
        total += PyBytes_Size(piece) / (Py_ssize_t)sizeof(uint32_t);
    }
    return total;
}

/* Write the ids of pieces and matches in turn, and the number of ids up to the end of each. */
static void write_ids(const Parts *parts, const uint32_t *own, uint32_t *ids, int64_t *ends)
{
    int64_t written = 0;
    Py_ssize_t next = parts->first;
    for (Py_ssize_t at = 0; at <= parts->count; at++) {
        if (!is_empty(parts, at)) {
            PyObject *piece = PyList_GetItem(parts->pieces, next++);
            Py_ssize_t size = PyBytes_Size(piece);
            memcpy(ids + written, PyBytes_AsString(piece), (size_t)size);
            written += size / (Py_ssize_t)sizeof(uint32_t);
        }
        *ends++ = written;
        if (at < parts->count) {
            ids[written++] = own[at];
            *ends++ = written;
        }
    }
}

static PyObject *joined(const Parts *parts, PyObject *marks, PyObject *added)
{
    uint32_t *own = PyMem_Malloc(((size_t)parts->count + 1) * sizeof(uint32_t));
    if (own == NULL)
        return PyErr_NoMemory();
    PyObject *result = NULL;
    /* A lookup may run Python code, so the pieces are checked after it. */
    Py_ssize_t total = find_ids(marks, parts->count, added, own) < 0 ? -1 : count_ids(parts);
    if (total >= 0) {
        PyObject *ids = PyBytes_FromStringAndSize(NULL, (total + parts->count) * (Py_ssize_t)sizeof(uint32_t));
        PyObject *ends = PyBytes_FromStringAndSize(NULL, (2 * parts->count + 1) * (Py_ssize_t)sizeof(int64_t));
        if (ids != NULL && ends != NULL) {
            write_ids(parts, own, (uint32_t *)PyBytes_AsString(ids), (int64_t *)PyBytes_AsString(ends));
            result = PyTuple_Pack(2, ids, ends);
        }
        Py_XDECREF(ids);
        Py_XDECREF(ends);
    }
    PyMem_Free(own);
    return result;
}

PyObject *native_join_pieces(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *pieces, *marks, *added, *places;
    Py_ssize_t first;
    if (!PyArg_ParseTuple(args, "O!nSO!O!:join_pieces", &PyList_Type, &pieces, &first, &places, &PyList_Type, &marks,
                          &PyDict_Type, &added))
        return NULL;
    Py_ssize_t count = PyList_Size(marks);
    if (first < 0 || PyBytes_Size(places) != (2 * count + 2) * (Py_ssize_t)sizeof(int64_t)) {
        PyErr_SetString(PyExc_ValueError, "there must be two borders for each match and two more");
        return NULL;
    }
    Parts parts = {count, (const int64_t *)PyBytes_AsString(places), pieces, first};
    return joined(&parts, marks, added);
}
