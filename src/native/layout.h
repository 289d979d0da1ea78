/* Items of lists and numbers of ints, read from memory. Items of new lists are written there.

   The limited API reads or sets an item of a list and reads the number of an int by a call each, which take most of the
   time of a list of ids. CPython 3.11 to 3.14 keep both at the same places. `find_layout` verifies that when the module is
   imported. With any other interpreter these functions call the API. Since 3.14, the ints that all modules share are
   marked. */

#ifndef RENDERERS_LAYOUT_H
#define RENDERERS_LAYOUT_H

#include "native.h"

#include <string.h>

#define ITEMS_PLACE 24 /* of the address of the items of a list */
#define FORM_PLACE 16  /* of the word with the sign of an int, the number of its digits, and marks */
#define DIGIT_PLACE 24 /* of the first digit of an int */

typedef struct {
    int is_known;
    uint64_t forms[2]; /* the words of positive ints of one digit */
} Layout;

extern Layout layout;

/* Set `layout`: that of this interpreter if it is wanted and can be verified. */
void find_layout(int wanted);

/* Return the items of a new list, which nothing else refers to. NULL if the layout is not known. */
static ALWAYS_INLINE PyObject **items_of_new_list(const Layout *known, PyObject *list)
{
    PyObject **items = NULL;
    if (known->is_known)
        memcpy(&items, (const char *)list + ITEMS_PLACE, sizeof(items));
    return items;
}

/* Return the items of a list, which are valid until Python code runs or the list is changed. NULL if the layout is not
   known. */
static ALWAYS_INLINE PyObject *const *items_of_list(const Layout *known, PyObject *list)
{
    return items_of_new_list(known, list);
}

/* Read the number of an object. Return 0 if the layout is not known, or if it is not a positive int of one digit. */
static ALWAYS_INLINE int read_digit(const Layout *known, PyObject *object, uint32_t *digit)
{
    uint64_t form;
    if (!known->is_known || !PyLong_CheckExact(object))
        return 0;
    memcpy(&form, (const char *)object + FORM_PLACE, sizeof(form));
    if (form != known->forms[0] && form != known->forms[1])
        return 0;
    memcpy(digit, (const char *)object + DIGIT_PLACE, sizeof(*digit));
    return 1;
}

#endif
