/* Convert lists of token ids to packed ids and back, and find a sequence in packed ids.

   `renderers.core.token_ids` does the same in Python. Packed ids are uint32. No Python code runs during a call. */

#include "ids.h"

#include <string.h>

#define SHARED_NUMBERS (1u << 18)
#define AHEAD 16 /* the ids between one that is converted and the one to load */
#define ITEMS_AHEAD 256 /* the same for the items of a list, which take less time each */
#define ITEMS_AT_ONCE 8 /* their places are in one line of the cache */

/* Load items of a list that follow later: their places first, then the objects. Those of a long prompt are in no cache,
   and usually one after the other, in the order in which they were read from JSON. The processor itself stops at the end
   of each page. */
static void load_items_ahead(PyObject *const *items, Py_ssize_t at, Py_ssize_t count)
{
#ifdef __GNUC__
    if (items == NULL || at + 2 * ITEMS_AHEAD >= count)
        return;
    __builtin_prefetch(&items[at + 2 * ITEMS_AHEAD]);
    for (int place = 0; place < ITEMS_AT_ONCE; place += 2) /* two objects are in one line of the cache */
        __builtin_prefetch(items[at + ITEMS_AHEAD + place]);
#else
    (void)items, (void)at, (void)count;
#endif
}

PyObject *native_pack_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *ids;
    Py_buffer packed;
    if (!PyArg_ParseTuple(args, "O!w*:pack_ids", &PyList_Type, &ids, &packed))
        return NULL;
    Py_ssize_t count = PyList_Size(ids), invalid = -1;
    if (packed.len % (Py_ssize_t)sizeof(uint32_t) || packed.len / (Py_ssize_t)sizeof(uint32_t) != count) {
        PyErr_SetString(PyExc_ValueError, "packed ids must have the length of the list");
        PyBuffer_Release(&packed);
        return NULL;
    }
    char *bytes = packed.buf;
    const Layout known = layout;
    PyObject *const *items = items_of_list(&known, ids);
    for (Py_ssize_t first = 0; invalid < 0 && first < count; first += ITEMS_AT_ONCE) {
        const Py_ssize_t end = first + ITEMS_AT_ONCE < count ? first + ITEMS_AT_ONCE : count;
        load_items_ahead(items, first, count);
        for (Py_ssize_t at = first; at < end; at++) {
            PyObject *item = items == NULL ? PyList_GetItem(ids, at) : items[at];
            uint32_t value;
            if (!read_digit(&known, item, &value) && !read_id(item, &value)) {
                invalid = at;
                break;
            }
            memcpy(bytes + (size_t)at * sizeof(value), &value, sizeof(value));
        }
    }
    PyBuffer_Release(&packed);
    return PyLong_FromSsize_t(invalid);
}

static uint32_t id_at(const Py_buffer *packed, Py_ssize_t at)
{
    uint32_t value;
    memcpy(&value, (const char *)packed->buf + (size_t)at * sizeof(value), sizeof(value));
    return value;
}

/* Return a new reference to the object for a number: that of the table if it has room for it. */
static PyObject *number_of(uint32_t value, PyObject **numbers)
{
    if (value >= SHARED_NUMBERS)
        return PyLong_FromUnsignedLong(value);
    if (numbers[value] == NULL)
        numbers[value] = PyLong_FromUnsignedLong(value);
    Py_XINCREF(numbers[value]);
    return numbers[value];
}

/* Load the numbers of the ids that follow: their places in the table first, then the objects. Those of a text are all
   over the memory, and waiting for each in turn would take most of the time. */
static void load_ahead(const Py_buffer *packed, Py_ssize_t at, Py_ssize_t count, PyObject **numbers)
{
#ifdef __GNUC__
    uint32_t value;
    if (at + 2 * AHEAD < count && (value = id_at(packed, at + 2 * AHEAD)) < SHARED_NUMBERS)
        __builtin_prefetch(&numbers[value]);
    if (at + AHEAD < count && (value = id_at(packed, at + AHEAD)) < SHARED_NUMBERS)
        __builtin_prefetch(numbers[value], 1);
#else
    (void)packed, (void)at, (void)count, (void)numbers;
#endif
}

PyObject *native_unpack_ids(PyObject *module, PyObject *ids)
{
    State *state = PyModule_GetState(module);
    if (state->numbers == NULL)
        state->numbers = PyMem_Calloc(SHARED_NUMBERS, sizeof(PyObject *));
    if (state->numbers == NULL)
        return PyErr_NoMemory();
    Py_buffer packed;
    if (PyObject_GetBuffer(ids, &packed, PyBUF_SIMPLE) < 0)
        return NULL;
    Py_ssize_t count = packed.len / (Py_ssize_t)sizeof(uint32_t);
    PyObject *listed = PyList_New(count);
    const Layout known = layout;
    PyObject **items = listed == NULL ? NULL : items_of_new_list(&known, listed);
    for (Py_ssize_t at = 0; listed != NULL && at < count; at++) {
        load_ahead(&packed, at, count, state->numbers);
        PyObject *number = number_of(id_at(&packed, at), state->numbers);
        if (items != NULL && number != NULL)
            items[at] = number;
        else if (number == NULL || PyList_SetItem(listed, at, number) < 0)
            Py_CLEAR(listed);
    }
    PyBuffer_Release(&packed);
    return listed;
}

void free_numbers(State *state)
{
    for (size_t value = 0; state->numbers != NULL && value < SHARED_NUMBERS; value++)
        Py_XDECREF(state->numbers[value]);
    PyMem_Free(state->numbers);
    state->numbers = NULL;
}

PyObject *native_find_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer packed, sequence;
    Py_ssize_t start;
    if (!PyArg_ParseTuple(args, "y*y*n:find_ids", &packed, &sequence, &start))
        return NULL;
    const size_t width = sizeof(uint32_t);
    const char *bytes = packed.buf;
    Py_ssize_t length = sequence.len / (Py_ssize_t)width, found = -1;
    Py_ssize_t last = packed.len / (Py_ssize_t)width - length;
    uint32_t first = 0;
    if (length > 0)
        memcpy(&first, sequence.buf, width);
    for (Py_ssize_t at = start < 0 ? 0 : start; length > 0 && at <= last; at++) {
        uint32_t value;
        memcpy(&value, bytes + (size_t)at * width, width);
        if (value == first && memcmp(bytes + (size_t)at * width, sequence.buf, (size_t)length * width) == 0) {
            found = at;
            break;
        }
    }
    PyBuffer_Release(&packed);
    PyBuffer_Release(&sequence);
    return PyLong_FromSsize_t(found);
}
