/* A span of a trace, as the functions that label spans read it. */

#ifndef RENDERERS_SPAN_H
#define RENDERERS_SPAN_H

#include "native.h"

typedef struct {
    Py_ssize_t start, end, message;
    PyObject *path;   /* borrowed, a tuple */
    PyObject *source; /* borrowed, the tuple that it was read from */
} Span;

/* The fields of `MessageSpans`. */
enum { OWN_START, OWN_END, NEXT_SPAN, PREVIOUS_BODY, FIRST_BODY, LAST_BODY, ROLE_END, CONTENT_START, FACTS };

/* Read a span of a tuple of spans. Return -1 with an error if it is not one. */
int read_span(PyObject *spans, Py_ssize_t at, Span *span);

/* Read the first numbers of a tuple. Return -1, with an error that says `expected`, if it is not a tuple with them. */
int read_numbers(PyObject *tuple, Py_ssize_t *numbers, Py_ssize_t count, const char *expected);

#endif
