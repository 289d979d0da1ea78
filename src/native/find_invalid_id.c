/* Find the first item of a list that is not a token id.

   `renderers.core.token_ids` does the same in Python. */

#include "native.h"

PyObject *native_find_invalid_id(PyObject *module, PyObject *ids)
{
    (void)module;
    if (!PyList_Check(ids)) {
        PyErr_SetString(PyExc_TypeError, "ids must be a list");
        return NULL;
    }
    Py_ssize_t count = PyList_Size(ids);
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *id = PyList_GetItem(ids, at);
        int overflow = 0;
        /* A bool is an int, but of another type. */
        long long number = PyLong_CheckExact(id) ? PyLong_AsLongLongAndOverflow(id, &overflow) : -1;
        if (overflow || number < 0 || number > UINT32_MAX)
            return PyLong_FromSsize_t(at);
    }
    return PyLong_FromLong(-1);
}
