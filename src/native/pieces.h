/* Special tokens in a text, as the functions that cut texts read them. */

#ifndef RENDERERS_PIECES_H
#define RENDERERS_PIECES_H

#include "native.h"

/* Return the place at an index of a match, or -1 if it is not a tuple with one there. */
Py_ssize_t place_in(PyObject *match, Py_ssize_t index);

/* Find the id of the token of a match. Return -1 with an error if it has none. */
int find_id(PyObject *mark, PyObject *added, uint32_t *id);

#endif
