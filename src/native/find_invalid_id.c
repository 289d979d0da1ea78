/* Find the first item of a list that is not a token id.

   `renderers.core.token_ids` does the same in Python. */

#include "ids.h"

PyObject *native_find_invalid_id(PyObject *module, PyObject *ids)
{
    (void)module;
    if (!PyList_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "ids must be a list");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(ids);
    const Layout known = layout;
    PyObject *const *items = items_of_list(&known, ids);
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *item = items == NULL ? PyList_GetItem(ids, at) : items[at];
        uint32_t id;
        if (!read_digit(&known, item, &id) && !read_id(item, &id))
            return PyLong_FromSsize_t(at);
    }
    return PyLong_FromLong(-1);
}
