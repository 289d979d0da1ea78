/* Find the tokens at places of a text, by the number of bytes of each token.

   `renderers.tokenizer.encoding` does the same in Python. Inputs are not trusted: nothing outside of the
   buffers is read, whatever they hold. No Python code runs between a check of the buffers and their use. Up to Python
   3.11, an allocation of a list can run finalizers, so the check comes after it. */

#include "locate.h"

#include <string.h>

/* Move a cursor forward to a character, and return its byte. */
static Py_ssize_t byte_of(ByteCursor *cursor, Py_ssize_t character)
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

#define AHEAD 16 /* the ids between one with a size that is read and the one to load */

/* Return the sum of the bytes of some tokens, or -1. Append the ids of unknown sizes to a list. */
static Py_ssize_t sum_of(const Tokens *tokens, Py_ssize_t start, Py_ssize_t end, PyObject *unknown)
{
    Py_ssize_t sum = 0;
    for (Py_ssize_t at = start; at < end; at++) {
        if (at + AHEAD < tokens->count && tokens->ids[at + AHEAD] < (uint64_t)tokens->known)
            PREFETCH(&tokens->sizes[tokens->ids[at + AHEAD]]);
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

void release_encoded(Encoded *encoded)
{
    PyBuffer_Release(&encoded->ids);
    PyBuffer_Release(&encoded->sizes);
    PyBuffer_Release(&encoded->border_places);
    PyBuffer_Release(&encoded->end_places);
    PyBuffer_Release(&encoded->moves);
    PyMem_Free(encoded->borders);
}

/* Return 1 if positions do not decrease and are at most `most`, 0 with an error if not. */
static int are_in_order(const int64_t *positions, Py_ssize_t count, Py_ssize_t most)
{
    int64_t last = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (positions[at] < last || positions[at] > most) {
            PyErr_SetString(PyExc_ValueError, "positions must be in order and within the text");
            return 0;
        }
        last = positions[at];
    }
    return 1;
}

/* Return a place of the normalized text, with the number of moves up to it. Places must be in order. */
static int64_t moved(const Encoded *encoded, int64_t place, Py_ssize_t *passed)
{
    const Move *moves = encoded->moves.buf;
    while (*passed < encoded->moves.len / (Py_ssize_t)sizeof(Move) && moves[*passed].from <= place)
        ++*passed;
    return *passed ? moves[*passed - 1].to + (place - moves[*passed - 1].from) : place;
}

/* Change places of a text, and copy its borders, to those of the normalized text. Return -1 with an error. */
static int move_places(Encoded *encoded, Py_ssize_t most, Py_ssize_t *places, Py_ssize_t count)
{
    const int64_t *borders = encoded->border_places.buf;
    const Move *moves = encoded->moves.buf;
    for (Py_ssize_t at = 0; at < encoded->moves.len / (Py_ssize_t)sizeof(Move); at++)
        if (moves[at].from < 0 || moves[at].from > most || moves[at].to < 0 || moves[at].to > encoded->length) {
            PyErr_SetString(PyExc_ValueError, "moves must be within the text");
            return -1;
        }
    if (!are_in_order(borders, encoded->parts + 1, most))
        return -1;
    encoded->borders = PyMem_Malloc(((size_t)encoded->parts + 1) * sizeof(int64_t));
    if (encoded->borders == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t passed = 0;
    for (Py_ssize_t at = 0; at <= encoded->parts; at++)
        encoded->borders[at] = moved(encoded, borders[at], &passed);
    int64_t last = 0;
    passed = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        const int64_t place = moved(encoded, places[at], &passed);
        if (place < last || place > encoded->length) {
            PyErr_SetString(PyExc_ValueError, "moves must be in order and within the text");
            return -1;
        }
        places[at] = (Py_ssize_t)place;
        last = place;
    }
    return 0;
}

/* Check the buffers of an encoded text, and move its places. Return -1 with an error if they do not fit together. */
static int check(Encoded *encoded, PyObject *text, Py_ssize_t *places, Py_ssize_t count)
{
    Py_ssize_t size;
    const char *bytes = PyUnicode_AsUTF8AndSize(encoded->normalized, &size);
    if (bytes == NULL)
        return -1;
    encoded->length = PyUnicode_GetLength(encoded->normalized);
    encoded->start = (ByteCursor){bytes, size, size == encoded->length, 0, 0};
    encoded->tokens = (Tokens){encoded->ids.buf, encoded->ids.len / (Py_ssize_t)sizeof(uint32_t), encoded->sizes.buf,
                               encoded->sizes.len / (Py_ssize_t)sizeof(uint32_t)};
    encoded->parts = encoded->end_places.len / (Py_ssize_t)sizeof(int64_t);
    if (encoded->parts < 1 || encoded->border_places.len / (Py_ssize_t)sizeof(int64_t) != encoded->parts + 1) {
        PyErr_SetString(PyExc_ValueError, "there must be one more border than parts");
        return -1;
    }
    encoded->ends = encoded->end_places.buf;
    if (move_places(encoded, PyUnicode_GetLength(text), places, count) < 0)
        return -1;
    return are_in_order(encoded->borders, encoded->parts + 1, encoded->length) &&
                   are_in_order(encoded->ends, encoded->parts, encoded->tokens.count)
               ? 0
               : -1;
}

/* Fill in the first token across each place, and the number of tokens that start before it. Return -1 with an error,
   or the number of the first part with sizes that do not add up, or the number of parts. */
static Py_ssize_t locate(const Encoded *encoded, const Py_ssize_t *places, Py_ssize_t count, PyObject *unknown,
                         Py_ssize_t *firsts, Py_ssize_t *stops)
{
    const Tokens *tokens = &encoded->tokens;
    const int64_t *borders = encoded->borders, *ends = encoded->ends;
    ByteCursor start = encoded->start, end = encoded->start;
    Py_ssize_t part = 0, walked = -1, token = 0, token_end = 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        Py_ssize_t place = places[at];
        while (part < encoded->parts - 1 && borders[part + 1] < place)
            part++;
        Py_ssize_t begun = part ? ends[part - 1] : 0;
        if (place <= borders[part]) {
            firsts[at] = stops[at] = begun;
            continue;
        }
        if (place >= borders[part + 1]) {
            firsts[at] = stops[at] = ends[part];
            continue;
        }
        if (part % 2) {
            firsts[at] = begun;
            stops[at] = ends[part];
            continue;
        }
        if (part != walked) {
            Py_ssize_t sum = sum_of(tokens, begun, ends[part], unknown);
            if (sum < 0)
                return -1;
            token_end = byte_of(&start, borders[part]);
            if (PyList_Size(unknown) == 0 && sum != byte_of(&end, borders[part + 1]) - token_end)
                return part;
            walked = part;
            token = begun;
        }
        Py_ssize_t target = byte_of(&start, place);
        if (PyList_Size(unknown) == 0)
            while (token < ends[part] && token_end < target)
                token_end += tokens->sizes[tokens->ids[token++]] - 1;
        stops[at] = token;
        firsts[at] = token_end > target ? token - 1 : token;
    }
    return encoded->parts;
}

static PyObject *list_of(const Py_ssize_t *numbers, Py_ssize_t count)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t at = 0; list != NULL && at < count; at++) {
        PyObject *number = PyLong_FromSsize_t(numbers[at]);
        if (number == NULL || PyList_SetItem(list, at, number))
            Py_CLEAR(list);
    }
    return list;
}

PyObject *located(Encoded *encoded, PyObject *text, Py_ssize_t *places, Py_ssize_t count, Finish finish, void *context)
{
    PyObject *unknown = PyList_New(0), *result = NULL;
    Py_ssize_t *found = PyMem_Malloc(2 * ((size_t)count + 1) * sizeof(Py_ssize_t));
    if (found == NULL)
        PyErr_NoMemory();
    if (unknown != NULL && found != NULL && check(encoded, text, places, count) == 0) {
        Py_ssize_t part = locate(encoded, places, count, unknown, found, found + count);
        if (part >= 0 && part < encoded->parts)
            result = PyLong_FromSsize_t(part);
        else if (part >= 0 && PyList_Size(unknown))
            result = Py_NewRef(unknown);
        else if (part >= 0)
            result = finish(context, found, found + count, count);
    }
    PyMem_Free(found);
    Py_XDECREF(unknown);
    return result;
}

static PyObject *lists_of(void *context, const Py_ssize_t *firsts, Py_ssize_t *stops, Py_ssize_t count)
{
    (void)context;
    return pair_of(list_of(firsts, count), list_of(stops, count));
}

PyObject *native_locate(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *text, *places, *result = NULL;
    Encoded encoded = {0};
    if (!PyArg_ParseTuple(args, "Uy*y*y*y*Uy*O!", &text, &encoded.ids, &encoded.sizes, &encoded.border_places,
                          &encoded.end_places, &encoded.normalized, &encoded.moves, &PyList_Type, &places))
        return NULL;
    Py_ssize_t count = PyList_Size(places);
    Py_ssize_t *numbers = numbers_of(places, count, PyUnicode_GetLength(text));
    if (numbers != NULL)
        result = located(&encoded, text, numbers, count, lists_of, NULL);
    PyMem_Free(numbers);
    release_encoded(&encoded);
    return result;
}

PyObject *native_size_entries(PyObject *Py_UNUSED(module), PyObject *ends)
{
    Py_buffer given;
    if (PyObject_GetBuffer(ends, &given, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t count = given.len / (Py_ssize_t)sizeof(uint32_t);
    PyObject *entries = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint32_t));
    char *next = entries == NULL ? NULL : PyBytes_AsString(entries);
    uint32_t start = 0;
    for (Py_ssize_t at = 0; entries != NULL && at < count; at++) {
        uint32_t end, entry;
        memcpy(&end, (const char *)given.buf + (size_t)at * sizeof(end), sizeof(end));
        if (end < start || end - start == UINT32_MAX) {
            PyErr_SetString(PyExc_OverflowError, "ends must be in order");
            Py_CLEAR(entries);
            break;
        }
        entry = end - start + 1;
        memcpy(next + (size_t)at * sizeof(entry), &entry, sizeof(entry));
        start = end;
    }
    PyBuffer_Release(&given);
    return entries;
}
