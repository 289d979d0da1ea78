/* Fill the table of `join` with the texts of a whole vocabulary.

   `PieceTable` in `renderers.parsing.pieces` adds single ids to the same table in Python. Inputs are not trusted:
   nothing outside of the buffers is read or written, whatever they hold. */

#include "native.h"
#include "table.h"

#include <string.h>

/* Write the entry of a text from `start` to `end` in all texts. It stays missing if a marker is a part of the text. */
static void write_entry(unsigned char *entry, const unsigned char *texts, uint32_t start, uint32_t end,
                        const unsigned char *is_marker)
{
    uint32_t size = end - start;
    memset(entry, MISSING, ENTRY);
    for (uint32_t at = start; at < end; at++)
        if (is_marker[texts[at]]) {
            if (size == 1) {
                entry[0] = MARKER;
                entry[1] = texts[at];
            }
            return;
        }
    if (size <= INLINE) {
        entry[0] = (unsigned char)(size + 1);
        memcpy(entry + 1, texts + start, size);
    } else {
        entry[0] = LONG;
        memcpy(entry + 4, &start, sizeof(start));
        memcpy(entry + 8, &size, sizeof(size));
    }
}

PyObject *native_fill(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer entries, texts, ends, markers;
    if (!PyArg_ParseTuple(args, "w*y*y*y*", &entries, &texts, &ends, &markers))
        return NULL;
    unsigned char is_marker[256] = {0};
    for (Py_ssize_t at = 0; at < markers.len; at++)
        is_marker[((const unsigned char *)markers.buf)[at]] = 1;
    Py_ssize_t count = ends.len / (Py_ssize_t)sizeof(uint32_t);
    if (count > entries.len / ENTRY)
        count = entries.len / ENTRY;
    uint32_t start = 0;
    for (Py_ssize_t number = 0; number < count; number++) {
        uint32_t end;
        memcpy(&end, (const char *)ends.buf + (size_t)number * sizeof(end), sizeof(end));
        if (end < start || end > (uint64_t)texts.len)
            break;
        write_entry((unsigned char *)entries.buf + (size_t)number * ENTRY, texts.buf, start, end, is_marker);
        start = end;
    }
    PyBuffer_Release(&entries);
    PyBuffer_Release(&texts);
    PyBuffer_Release(&ends);
    PyBuffer_Release(&markers);
    return Py_NewRef(Py_None);
}
