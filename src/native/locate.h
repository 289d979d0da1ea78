/* The tokens at places of an encoded text. */

#ifndef RENDERERS_LOCATE_H
#define RENDERERS_LOCATE_H

#include "native.h"

/* The UTF-8 of a text, and a position in it as a number of characters and of bytes. */
typedef struct {
    const char *bytes;
    Py_ssize_t size;
    int ascii;
    Py_ssize_t character;
    Py_ssize_t byte;
} ByteCursor;

typedef struct {
    const uint32_t *ids;
    Py_ssize_t count;
    const uint32_t *sizes; /* one more than the bytes of a token, 0 if unknown */
    Py_ssize_t known;
} Tokens;

/* A place of a text, and the same place of its normalized form. */
typedef struct {
    int64_t from, to;
} Move;

/* A text that was cut into parts, and its tokens. Parts with odd numbers are one special token each. */
typedef struct {
    PyObject *normalized; /* the text as its tokens have it */
    ByteCursor start;
    Tokens tokens;
    int64_t *borders;    /* the start of each part, and the end of the last, in the normalized text */
    const int64_t *ends; /* the number of tokens up to the end of each part */
    Py_ssize_t parts;
    Py_ssize_t length;
    Py_buffer ids, sizes, border_places, end_places, moves;
} Encoded;

/* A function that makes the result of the tokens at places: the first across each, and the number that start before. */
typedef PyObject *(*Finish)(void *context, const Py_ssize_t *firsts, Py_ssize_t *stops, Py_ssize_t count);

/* Locate the tokens at places, which must be in order and within the text. They become places of the normalized text.
   Return the result of `finish`, or a list of ids with unknown sizes, or the number of a part with sizes that do not
   add up. The buffers are checked here. */
PyObject *located(Encoded *encoded, PyObject *text, Py_ssize_t *places, Py_ssize_t count, Finish finish, void *context);

void release_encoded(Encoded *encoded);

#endif
