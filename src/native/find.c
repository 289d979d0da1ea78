/* Find the special tokens in a text.

   `renderers.rendering.control_text` does the same with a regular expression. The trie is not trusted: nothing outside
   of it is read, and no node leads back to an earlier one. Both hold if finalizers change it during the call. */

#include "native.h"

#include <string.h>

/* A byte of a token. Its children are the bytes that can follow, linked by `sibling`. */
typedef struct {
    int32_t byte;
    int32_t child;   /* 0 if there is none */
    int32_t sibling; /* 0 if there is none */
    int32_t token;   /* the number of the token that ends here plus 1, 0 if none does */
} Node;

#define FEW 4 /* the most first bytes of tokens that are searched for one by one */

typedef struct {
    const Node *nodes;
    int32_t count;
    unsigned char starts[256]; /* 1 for the first bytes of tokens */
    int start_count;
    unsigned char firsts[FEW]; /* the first bytes, if these are few */
    Py_ssize_t next[FEW];      /* the next place of each that is not before the last one that was asked for */
} Trie;

/* Return the node for a byte among siblings that come after `before`, 0 if there is none. */
static int32_t step(const Trie *trie, int32_t node, int32_t before, unsigned char byte)
{
    while (node > before && node < trie->count) {
        if (trie->nodes[node].byte == byte)
            return node;
        before = node;
        node = trie->nodes[node].sibling;
    }
    return 0;
}

static void find_starts(Trie *trie)
{
    memset(trie->starts, 0, sizeof(trie->starts));
    trie->start_count = 0;
    int32_t before = 0, node = trie->count ? trie->nodes[0].child : 0;
    while (node > before && node < trie->count) {
        unsigned char byte = (unsigned char)trie->nodes[node].byte;
        trie->starts[byte] = 1;
        if (trie->start_count < FEW) {
            trie->firsts[trie->start_count] = byte;
            trie->next[trie->start_count] = -1;
        }
        trie->start_count++;
        before = node;
        node = trie->nodes[node].sibling;
    }
}

/* Return the number of the longest token at the start of some bytes plus 1, and its size; 0 if there is none. */
static int32_t match(const Trie *trie, const unsigned char *bytes, Py_ssize_t size, Py_ssize_t *length)
{
    int32_t found = 0, node = 0;
    for (Py_ssize_t at = 0; at < size; at++) {
        node = step(trie, trie->nodes[node].child, node, bytes[at]);
        if (node == 0)
            break;
        if (trie->nodes[node].token) {
            found = trie->nodes[node].token;
            *length = at + 1;
        }
    }
    return found;
}

/* Return the next byte that a token can start with, `size` if there is none. */
static Py_ssize_t skip(Trie *trie, const unsigned char *bytes, Py_ssize_t at, Py_ssize_t size)
{
    if (trie->start_count > FEW) {
        while (at < size && !trie->starts[bytes[at]])
            at++;
        return at;
    }
    Py_ssize_t first = size;
    for (int number = 0; number < trie->start_count; number++) {
        if (trie->next[number] < at) {
            const unsigned char *found = memchr(bytes + at, trie->firsts[number], (size_t)(size - at));
            trie->next[number] = found ? found - bytes : size;
        }
        if (trie->next[number] < first)
            first = trie->next[number];
    }
    return first;
}

static Py_ssize_t characters_in(const unsigned char *bytes, Py_ssize_t start, Py_ssize_t end, int ascii)
{
    if (ascii)
        return end - start;
    Py_ssize_t count = 0;
    for (; start < end; start++)
        count += (bytes[start] & 0xC0) != 0x80;
    return count;
}

static int append_match(PyObject *found, PyTypeObject *type, Py_ssize_t start, Py_ssize_t end, PyObject *token)
{
    PyObject *match = new_tuple(type, 3);
    if (match != NULL)
        match = finish_leaf(match, set_item(match, 0, PyLong_FromSsize_t(start)) ||
                                       set_item(match, 1, PyLong_FromSsize_t(end)) ||
                                       set_item(match, 2, Py_NewRef(token)));
    int failed = match == NULL || PyList_Append(found, match);
    Py_XDECREF(match);
    return failed;
}

static PyObject *found_in(PyObject *text, Trie *trie, PyObject *tokens, PyTypeObject *type)
{
    Py_ssize_t size;
    const unsigned char *bytes = (const unsigned char *)PyUnicode_AsUTF8AndSize(text, &size);
    PyObject *found = bytes ? PyList_New(0) : NULL;
    if (found == NULL)
        return NULL;
    int ascii = size == PyUnicode_GetLength(text);
    Py_ssize_t counted = 0, character = 0, at = trie->count ? 0 : size;
    while ((at = skip(trie, bytes, at, size)) < size) {
        Py_ssize_t length = 0;
        int32_t number = match(trie, bytes + at, size - at, &length);
        if (number == 0) {
            at++;
            continue;
        }
        PyObject *token = number <= PyTuple_Size(tokens) ? PyTuple_GetItem(tokens, number - 1) : NULL;
        character += characters_in(bytes, counted, at, ascii);
        Py_ssize_t end = character + characters_in(bytes, at, at + length, ascii);
        counted = at += length;
        if (token == NULL || append_match(found, type, character, end, token)) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "the trie names a token that is not there");
            Py_DECREF(found);
            return NULL;
        }
        character = end;
    }
    return found;
}

PyObject *native_find(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *text, *tokens, *type, *result = NULL;
    Py_buffer nodes;
    if (!PyArg_ParseTuple(args, "Uy*O!O!", &text, &nodes, &PyTuple_Type, &tokens, &PyType_Type, &type))
        return NULL;
    Py_ssize_t count = nodes.len / (Py_ssize_t)sizeof(Node);
    if (!PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type))
        PyErr_SetString(PyExc_TypeError, "matches must be tuples");
    else if (count > INT32_MAX)
        PyErr_SetString(PyExc_ValueError, "the trie is too large");
    else {
        Trie trie = {.nodes = nodes.buf, .count = (int32_t)count};
        find_starts(&trie);
        result = found_in(text, &trie, tokens, (PyTypeObject *)type);
    }
    PyBuffer_Release(&nodes);
    return result;
}
