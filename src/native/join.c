/* Join the texts of tokens to one text, and return the start of each token.

   `renderers.parsing.pieces` does the same in Python if this extension was not built. Inputs are not trusted:
   nothing outside of the buffers is read, whatever they hold. No Python code runs during the call, so the inputs
   cannot change. */

#include "native.h"

#include <string.h>

typedef uint16_t Unit;  /* a character */
typedef uint32_t Place; /* an offset in the texts of the vocabulary */
typedef uint64_t Start; /* an offset in the joined text */

#define STRIDE 8 /* characters to copy at once: few tokens are longer */

/* The start and the end of the text of a token. */
typedef struct {
    Place start;
    Place end;
} Span;

static Span span_of(const char *spans, Py_ssize_t number)
{
    Span span;
    memcpy(&span, spans + (size_t)number * sizeof(Span), sizeof(Span));
    return span;
}

/* Fill in the ids and the start of each token. Return the length of the joined text, or -1 if an id is invalid. */
static int64_t measure(PyObject *ids, Py_ssize_t count, const char *spans, Py_ssize_t size, Py_ssize_t units,
                       Place *numbers, char *starts)
{
    Start length = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *id = PyList_GetItem(ids, at);
        if (!PyLong_CheckExact(id))
            return -1;
        int overflow;
        long number = PyLong_AsLongAndOverflow(id, &overflow);
        if (overflow || number < 0 || number >= size)
            return -1;
        Span span = span_of(spans, number);
        if (span.start > span.end || span.end > (uint64_t)units)
            return -1;
        memcpy(starts + (size_t)at * sizeof(Start), &length, sizeof(Start));
        numbers[at] = (Place)number;
        length += span.end - span.start;
    }
    return (int64_t)length;
}

/* Copy the texts one after the other. Return the union of the bits of all characters. `text` must have room for one
   stride more than the texts. */
static Unit copy(const Place *numbers, Py_ssize_t count, const char *texts, const char *spans, Py_ssize_t units,
                 Unit *text)
{
    Unit *to = text;
    for (Py_ssize_t at = 0; at < count; at++) {
        Span span = span_of(spans, numbers[at]);
        size_t length = span.end - span.start;
        const char *from = texts + span.start * sizeof(Unit);
        if (length <= STRIDE && (uint64_t)span.start + STRIDE <= (uint64_t)units)
            memcpy(to, from, STRIDE * sizeof(Unit));
        else
            memcpy(to, from, length * sizeof(Unit));
        to += length;
    }
    Unit bits = 0;
    for (const Unit *unit = text; unit < to; unit++)
        bits |= *unit;
    return bits;
}

static PyObject *text_of(Unit *text, Py_ssize_t length, Unit bits)
{
    if (bits > 0xFF) {
        const uint16_t one = 1;
        int order = *(const char *)&one ? -1 : 1;
        return PyUnicode_DecodeUTF16((const char *)text, length * (Py_ssize_t)sizeof(Unit), "surrogatepass", &order);
    }
    /* In place: each byte overwrites a character that was read already. */
    char *bytes = (char *)text;
    for (Py_ssize_t at = 0; at < length; at++) {
        Unit unit;
        memcpy(&unit, bytes + (size_t)at * sizeof(Unit), sizeof(Unit));
        bytes[at] = (char)unit;
    }
    return PyUnicode_DecodeLatin1(bytes, length, "strict");
}

static PyObject *joined(PyObject *ids, const Py_buffer *texts, const Py_buffer *spans)
{
    Py_ssize_t count = PyList_Size(ids);
    Py_ssize_t units = texts->len / (Py_ssize_t)sizeof(Unit);
    Py_ssize_t size = spans->len / (Py_ssize_t)sizeof(Span);
    if (count > PY_SSIZE_T_MAX / (Py_ssize_t)sizeof(Start) - 1)
        return PyErr_NoMemory();
    PyObject *starts = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(Start));
    Place *numbers = PyMem_Malloc(((size_t)count + 1) * sizeof(Place));
    Unit *text = NULL;
    PyObject *wire = NULL, *result = NULL;
    if (starts == NULL || numbers == NULL)
        goto end;
    int64_t length = measure(ids, count, spans->buf, size, units, numbers, PyBytes_AsString(starts));
    if (length < 0) {
        result = Py_NewRef(Py_None);
        goto end;
    }
    if (length > PY_SSIZE_T_MAX / (int64_t)sizeof(Unit) - STRIDE)
        goto end;
    text = PyMem_Malloc(((size_t)length + STRIDE) * sizeof(Unit));
    if (text == NULL)
        goto end;
    Unit bits = copy(numbers, count, texts->buf, spans->buf, units, text);
    wire = text_of(text, (Py_ssize_t)length, bits);
    if (wire != NULL)
        result = PyTuple_Pack(2, wire, starts);
end:
    if (result == NULL && !PyErr_Occurred())
        PyErr_NoMemory();
    PyMem_Free(text);
    PyMem_Free(numbers);
    Py_XDECREF(wire);
    Py_XDECREF(starts);
    return result;
}

PyObject *native_join(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *ids;
    Py_buffer texts, spans;
    if (!PyArg_ParseTuple(args, "O!y*y*", &PyList_Type, &ids, &texts, &spans))
        return NULL;
    PyObject *result = joined(ids, &texts, &spans);
    PyBuffer_Release(&texts);
    PyBuffer_Release(&spans);
    return result;
}
