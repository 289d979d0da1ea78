/* Join the texts of tokens to one text, and return the position of each token and of each marker.

   `renderers.parsing.pieces` does the same in Python. Inputs are not trusted: nothing outside of the buffers is read,
   whatever they hold. Up to Python 3.11, an allocation of a list or of an error can run finalizers, which can change the
   ids. So the lists of the result are created before, and an id is read again after an error. */

#include "layout.h"
#include "table.h"

#include <string.h>

#define BLOCK 64 /* the ids of which the entries are loaded together */

/* The joined text so far, with room for the texts of all other entries except long ones. */
typedef struct {
    char *bytes;
    size_t length;
    size_t capacity;
} Text;

/* Append the text of an entry that refers to `texts`. Return 0 if it is not within them, or -1 without memory. */
static int append_long(Text *text, const unsigned char *entry, const Py_buffer *texts, size_t room)
{
    uint32_t start, length;
    memcpy(&start, entry + 4, sizeof(start));
    memcpy(&length, entry + 8, sizeof(length));
    if ((uint64_t)start + length > (uint64_t)texts->len)
        return 0;
    size_t needed = text->length + length + room;
    if (needed > (size_t)PY_SSIZE_T_MAX / 2)
        return -1;
    if (needed > text->capacity) {
        char *bytes = PyMem_Realloc(text->bytes, needed * 2);
        if (bytes == NULL)
            return -1;
        text->bytes = bytes;
        text->capacity = needed * 2;
    }
    memcpy(text->bytes + text->length, (const char *)texts->buf + start, length);
    text->length += length;
    return 1;
}

static int append_position(PyObject *marks, uint64_t position)
{
    PyObject *number = PyLong_FromUnsignedLongLong(position);
    int failed = number == NULL || PyList_Append(marks, number) < 0;
    Py_XDECREF(number);
    return failed ? -1 : 1;
}

/* Return the entry of an id in a table of `size` entries. NULL if it is not an int, or not in the table. */
static const unsigned char *entry_of(PyObject *id, const char *entries, Py_ssize_t size)
{
    if (!PyLong_CheckExact(id))
        return NULL;
    /* A number that is negative or too large becomes the largest one. */
    size_t number = PyLong_AsSize_t(id);
    if (number >= (size_t)size) {
        PyErr_Clear();
        return NULL;
    }
    return (const unsigned char *)entries + number * ENTRY;
}

/* Find the entries of the block of ids from `at` on, and begin to load them: those of a text are all over the table, and
   waiting for each in turn would take most of the time. Return -1 if an id is not there any more. */
static int find_entries(PyObject *ids, Py_ssize_t at, Py_ssize_t end, const Py_buffer *table,
                        const unsigned char **entries)
{
    const Layout known = layout;
    const Py_ssize_t size = table->len / ENTRY, count = end - at < BLOCK ? end - at : BLOCK;
    PyObject *const *items = at + count <= PyList_Size(ids) ? items_of_list(&known, ids) : NULL;
    Py_ssize_t number = 0;
    for (uint32_t digit; items != NULL && number < count && read_digit(&known, items[at + number], &digit); number++) {
        entries[number] = digit < (size_t)size ? (const unsigned char *)table->buf + (size_t)digit * ENTRY : NULL;
        PREFETCH(entries[number]);
    }
    for (; number < count; number++) {
        PyObject *id = PyList_GetItem(ids, at + number);
        if (id == NULL)
            return -1;
        entries[number] = entry_of(id, table->buf, size);
        PREFETCH(entries[number]);
    }
    return 0;
}

/* Append the texts of all ids. Ids without a text are appended to `missing`. Return -1 after an error. */
static int append_all(PyObject *ids, Py_ssize_t count, const Py_buffer *entries, const Py_buffer *texts,
                      uint64_t first, Text *joined, char *starts, PyObject *marks, PyObject *missing)
{
    /* A copy, because the compiler must assume that a pointer to characters can point to `joined`. */
    Text text = *joined;
    /* Two blocks: the entries of one are loaded while the texts of the other are appended. */
    const unsigned char *found[2 * BLOCK];
    int done = find_entries(ids, 0, count, entries, found);
    for (Py_ssize_t at = 0; at < count && done >= 0; at++) {
        const Py_ssize_t next = at + BLOCK;
        if (at % BLOCK == 0 && next < count && find_entries(ids, next, count, entries, found + next % (2 * BLOCK)) < 0) {
            done = -1;
            break;
        }
        const unsigned char *entry = found[at % (2 * BLOCK)];
        uint64_t start = first + text.length;
        memcpy(starts + (size_t)at * sizeof(start), &start, sizeof(start));
        done = 0;
        if (entry != NULL && entry[0] - 1u <= INLINE) {
            /* Two copies of eight bytes that overlap take less time than one of fifteen. */
            memcpy(text.bytes + text.length, entry + 1, 8);
            memcpy(text.bytes + text.length + INLINE - 8, entry + ENTRY - 8, 8);
            text.length += entry[0] - 1u;
            continue;
        } else if (entry != NULL && entry[0] == MARKER) {
            text.bytes[text.length++] = (char)entry[1];
            done = append_position(marks, start);
        } else if (entry != NULL && entry[0] == LONG) {
            Text grown = text;
            done = append_long(&grown, entry, texts, (size_t)(count - at) * INLINE);
            text = grown;
        }
        if (done == 0) {
            PyObject *id = PyList_GetItem(ids, at);
            done = id == NULL ? -1 : PyList_Append(missing, id);
        }
    }
    *joined = text;
    return done;
}

static PyObject *joined(PyObject *ids, const Py_buffer *entries, const Py_buffer *texts, uint64_t first)
{
    PyObject *marks = PyList_New(0), *missing = PyList_New(0), *starts = NULL, *wire = NULL, *result = NULL;
    Py_ssize_t count = PyList_Size(ids);
    Text text = {.capacity = ((size_t)count + 1) * INLINE};
    if (marks == NULL || missing == NULL || count > PY_SSIZE_T_MAX / (4 * ENTRY))
        goto end;
    text.bytes = PyMem_Malloc(text.capacity);
    starts = PyBytes_FromStringAndSize(NULL, count * (Py_ssize_t)sizeof(uint64_t));
    if (text.bytes == NULL || starts == NULL)
        goto end;
    if (append_all(ids, count, entries, texts, first, &text, PyBytes_AsString(starts), marks, missing) < 0)
        goto end;
    if (PyList_Size(missing) > 0) {
        result = Py_NewRef(missing);
        goto end;
    }
    wire = PyUnicode_DecodeLatin1(text.bytes, (Py_ssize_t)text.length, NULL);
    if (wire != NULL)
        result = PyTuple_Pack(3, wire, starts, marks);
end:
    if (result == NULL && !PyErr_Occurred())
        PyErr_NoMemory();
    PyMem_Free(text.bytes);
    Py_XDECREF(wire);
    Py_XDECREF(starts);
    Py_XDECREF(marks);
    Py_XDECREF(missing);
    return result;
}

PyObject *native_join(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *ids, *position;
    Py_buffer entries, texts;
    if (!PyArg_ParseTuple(args, "O!y*y*O", &PyList_Type, &ids, &entries, &texts, &position))
        return NULL;
    const unsigned long long first = PyLong_AsUnsignedLongLong(position);
    const int failed = first == ULLONG_MAX && PyErr_Occurred();
    PyObject *result = failed ? NULL : joined(ids, &entries, &texts, first);
    PyBuffer_Release(&entries);
    PyBuffer_Release(&texts);
    return result;
}
