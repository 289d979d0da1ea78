/* The functions of the extension `renderers.core._native`. Each has a twin in Python that returns the same. */

#ifndef RENDERERS_NATIVE_H
#define RENDERERS_NATIVE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define VERSION 37 /* increased with every change of an interface */

PyObject *native_attribute(PyObject *module, PyObject *args);
PyObject *native_attribute_spans(PyObject *module, PyObject *args);
PyObject *native_encode_bpe(PyObject *module, PyObject *args);
PyObject *native_encode_parts(PyObject *module, PyObject *args);
PyObject *native_expand(PyObject *module, PyObject *args);
PyObject *native_find(PyObject *module, PyObject *args);
PyObject *native_finish_messages(PyObject *module, PyObject *args);
PyObject *native_find_invalid_id(PyObject *module, PyObject *ids);
PyObject *native_fill_bpe(PyObject *module, PyObject *args);
PyObject *native_find_ids(PyObject *module, PyObject *args);
PyObject *native_find_layout(PyObject *module, PyObject *wanted);
PyObject *native_find_mark(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_find_start(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_find_starts(PyObject *module, PyObject *args);
PyObject *native_find_turns(PyObject *module, PyObject *args);
PyObject *native_fill(PyObject *module, PyObject *args);
PyObject *native_index_spans(PyObject *module, PyObject *args);
PyObject *native_touching_fields(PyObject *module, PyObject *args);
PyObject *native_label_spans(PyObject *module, PyObject *args);
PyObject *native_keeps_bpe(PyObject *module, PyObject *args);
PyObject *native_join(PyObject *module, PyObject *args);
PyObject *native_join_pieces(PyObject *module, PyObject *args);
PyObject *native_join_regions(PyObject *module, PyObject *args);
PyObject *native_locate(PyObject *module, PyObject *args);
PyObject *native_copy_json(PyObject *module, PyObject *args);
PyObject *native_untrack(PyObject *module, PyObject *value);
PyObject *native_same_json(PyObject *module, PyObject *args);
PyObject *native_json_text(PyObject *module, PyObject *value);
PyObject *native_is_plain(PyObject *module, PyObject *value);
PyObject *native_is_simple_json(PyObject *module, PyObject *args);
PyObject *native_pack_ids(PyObject *module, PyObject *args);
PyObject *native_unpack_ids(PyObject *module, PyObject *ids);
PyObject *native_size_entries(PyObject *module, PyObject *ends);
PyObject *native_split_text(PyObject *module, PyObject *args);
PyObject *native_settle(PyObject *module, PyObject *args);
PyObject *native_written_fields(PyObject *module, PyObject *args);
PyObject *native_may_lose(PyObject *module, PyObject *args);
PyObject *native_enter_message(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_field_text(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *native_wrap_messages(PyObject *module, PyObject *args);
PyObject *native_wrap_contents(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* The state of the module. */
typedef struct {
    PyObject **numbers; /* the ints that lists of ids share, by their values; NULL for those that were not needed yet */
} State;

void free_numbers(State *state);

/* Return a new instance of a subclass of tuple, with items to be set. No Python code of the subclass runs. */
static inline PyObject *new_tuple(PyTypeObject *type, Py_ssize_t size)
{
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    return allocate(type, size);
}

/* Return a copy of a list for the time of a call. Up to Python 3.11, an allocation can collect garbage, and a finalizer
   can change the list. So it is read after the allocation, which `PyList_GetSlice` and `PyList_AsTuple` do not ensure.
   No code can find the copy with `gc.get_objects`. */
static inline PyObject *copy_of_list(PyObject *list)
{
    PyObject *copied = PyList_New(0);
    if (copied == NULL)
        return NULL;
    PyObject_GC_UnTrack(copied);
    if (PyList_SetSlice(copied, 0, 0, list) < 0)
        Py_CLEAR(copied);
    return copied;
}

/* Return a pair of two new references, which are released; NULL if one is NULL. */
static inline PyObject *pair_of(PyObject *one, PyObject *other)
{
    PyObject *pair = one && other ? PyTuple_Pack(2, one, other) : NULL;
    Py_XDECREF(one);
    Py_XDECREF(other);
    return pair;
}

/* Set an item of a new tuple to a new reference. Return -1 if that is NULL. */
static inline int set_item(PyObject *tuple, Py_ssize_t index, PyObject *value)
{
    return value == NULL ? -1 : PyTuple_SetItem(tuple, index, value);
}

/* Return the tuple if all items could be set, else NULL. The garbage collector need not visit a tuple of texts, numbers
   and constants, because nothing in it leads back to it. Python itself excludes only tuples of no subclass. */
static inline PyObject *finish_leaf(PyObject *tuple, int failed)
{
    if (failed)
        Py_CLEAR(tuple);
    else
        PyObject_GC_UnTrack(tuple);
    return tuple;
}

/* Begin to load an address, which need not be valid. Compile a function that is called for each word into its callers. */
#if defined(__GNUC__)
#define PREFETCH(address) __builtin_prefetch(address)
#define ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE inline
#endif

#endif
