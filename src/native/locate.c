/* Find the tokens at places of a text, by the number of bytes of each token.

   `renderers.tokenizer.encoding.locate` does the same in Python. Inputs are not trusted: nothing outside of the
   buffers is read, whatever they hold. No Python code runs during the call, so the inputs cannot change. */

#include "native.h"

/* A text, and a position in it as a number of characters and of bytes. */
typedef struct {
    const char *bytes;
    Py_ssize_t size;
    int ascii;
    Py_ssize_t character;
    Py_ssize_t byte;
} Cursor;

/* Move a cursor forward to a character, and return its byte. */
static Py_ssize_t byte_of(Cursor *cursor, Py_ssize_t character)
{
    if (cursor->ascii)
        return character;
    while (cursor->character < character && cursor->byte < cursor->size) {
        cursor->byte++;
        while (cursor->byte < cursor->size && (cursor->bytes[cursor->byte] & 0xC0) == 0x80)
            cursor->byte++;
        cursor->character++;
    }
    return cursor->byte;
}

typedef struct {
    const uint32_t *ids;
    Py_ssize_t count;
    const uint32_t *sizes; /* one more than the bytes of a token, 0 if unknown */
    Py_ssize_t known;
} Tokens;

/* Return the sum of the bytes of some tokens, or -1. Append the ids of unknown sizes to a list. */
static Py_ssize_t sum_of(const Tokens *tokens, Py_ssize_t start, Py_ssize_t end, PyObject *unknown)
{
    Py_ssize_t sum = 0;
    for (Py_ssize_t at = start; at < end; at++) {
        uint32_t id = tokens->ids[at];
        uint32_t size = id < (uint64_t)tokens->known ? tokens->sizes[id] : 0;
        if (size == 0) {
            PyObject *number = PyLong_FromUnsignedLong(id);
            if (number == NULL)
                return -1;
            int failed = PyList_Append(unknown, number);
            Py_DECREF(number);
            if (failed)
                return -1;
            continue;
        }
        sum += size - 1;
    }
    return sum;
}

/* Read a list of numbers that do not decrease and are at most `most`. Return NULL with an error if it is not one. */
static Py_ssize_t *numbers_of(PyObject *list, Py_ssize_t count, Py_ssize_t most)
{
    Py_ssize_t *numbers = PyMem_Malloc(((size_t)count + 1) * sizeof(Py_ssize_t));
    if (numbers == NULL)
        return (Py_ssize_t *)PyErr_NoMemory();
    Py_ssize_t last = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *item = PyList_GetItem(list, at);
        Py_ssize_t number = PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : -1;
        if (number < last || number > most) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "positions must be in order and within the text");
            PyMem_Free(numbers);
            return NULL;
        }
        numbers[at] = last = number;
    }
    return numbers;
}

static int append_number(PyObject *list, Py_ssize_t number)
{
    PyObject *item = PyLong_FromSsize_t(number);
    if (item == NULL)
        return -1;
    int failed = PyList_Append(list, item);
    Py_DECREF(item);
    return failed;
}

static PyObject *located(PyObject *text, const Tokens *tokens, const Py_ssize_t *borders, const Py_ssize_t *ends,
                         Py_ssize_t parts, const Py_ssize_t *places, Py_ssize_t count)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == NULL)
        return NULL;
    int ascii = size == PyUnicode_GetLength(text);
    Cursor start = {bytes, size, ascii, 0, 0}, end = start;
    PyObject *firsts = PyList_New(0), *stops = PyList_New(0), *unknown = PyList_New(0), *result = NULL;
    if (firsts == NULL || stops == NULL || unknown == NULL)
        goto done;
    Py_ssize_t part = 0, walked = -1, token = 0, token_end = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t place = places[at], first, stop;
        while (part < parts - 1 && borders[part + 1] < place)
            part++;
        Py_ssize_t begun = part ? ends[part - 1] : 0;
        if (place <= borders[part])
            first = stop = begun;
        else if (place >= borders[part + 1])
            first = stop = ends[part];
        else if (part % 2) {
            /* A special token. */
            first = begun;
            stop = ends[part];
        }
        else {
            if (part != walked) {
                Py_ssize_t sum = sum_of(tokens, begun, ends[part], unknown);
                if (sum < 0)
                    goto done;
                token_end = byte_of(&start, borders[part]);
                if (PyList_Size(unknown) == 0 && sum != byte_of(&end, borders[part + 1]) - token_end) {
                    result = PyLong_FromSsize_t(part);
                    goto done;
                }
                walked = part;
                token = begun;
            }
            Py_ssize_t target = byte_of(&start, place);
            if (PyList_Size(unknown) == 0)
                while (token < ends[part] && token_end < target)
                    token_end += tokens->sizes[tokens->ids[token++]] - 1;
            stop = token;
            first = token_end > target ? token - 1 : token;
        }
        if (append_number(firsts, first) || append_number(stops, stop))
            goto done;
    }
    result = PyList_Size(unknown) ? Py_NewRef(unknown) : PyTuple_Pack(2, firsts, stops);
done:
    Py_XDECREF(firsts);
    Py_XDECREF(stops);
    Py_XDECREF(unknown);
    return result;
}

PyObject *native_locate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *text, *borders, *ends, *places, *result = NULL;
    Py_buffer ids, sizes;
    if (!PyArg_ParseTuple(args, "Uy*y*O!O!O!", &text, &ids, &sizes, &PyList_Type, &borders, &PyList_Type, &ends,
                          &PyList_Type, &places))
        return NULL;
    const Tokens tokens = {ids.buf, ids.len / (Py_ssize_t)sizeof(uint32_t), sizes.buf,
                           sizes.len / (Py_ssize_t)sizeof(uint32_t)};
    Py_ssize_t parts = PyList_Size(ends), count = PyList_Size(places), length = PyUnicode_GetLength(text);
    Py_ssize_t *border = NULL, *end = NULL, *place = NULL;
    if (parts < 1 || PyList_Size(borders) != parts + 1)
        PyErr_SetString(PyExc_ValueError, "there must be one more border than parts");
    else if ((border = numbers_of(borders, parts + 1, length)) && (end = numbers_of(ends, parts, tokens.count)) &&
             (place = numbers_of(places, count, length)))
        result = located(text, &tokens, border, end, parts, place, count);
    PyMem_Free(border);
    PyMem_Free(end);
    PyMem_Free(place);
    PyBuffer_Release(&ids);
    PyBuffer_Release(&sizes);
    return result;
}
