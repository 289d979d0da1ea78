/* Token ids in lists. */

#ifndef RENDERERS_IDS_H
#define RENDERERS_IDS_H

#include "layout.h"

/* Read the token id that an item of a list is. Return 0 if it is none. Of the functions that read an int, this one is
   the fastest for small numbers. */
static inline int read_id(PyObject *item, uint32_t *id)
{
    /* A bool is an int, but of another type. */
    if (!PyLong_CheckExact(item))
        return 0;
    size_t number = PyLong_AsSize_t(item);
    if (number >= UINT32_MAX && (number > UINT32_MAX || PyErr_Occurred())) {
        PyErr_Clear();
        return 0;
    }
    *id = (uint32_t)number;
    return 1;
}

#endif
