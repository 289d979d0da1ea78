/* Encode texts that are cut at special tokens, with a cache of their pieces.

   `renderers.tokenizer.compiled.twin` does the same in Python. Inputs are not trusted. Other threads and the Python code
   of a lookup or of the normalizer cannot change what is in use: buffers are locked, and the matches are copied first. */

#include "bpe.h"
#include "pieces.h"

#define BYTES_PER_ID 3 /* at least, in most texts */
#define SAMPLE 32      /* the bytes at each end of a piece by which it is recognized */
#define MARKS 4        /* of pieces, in a set */

/* A str, and a position in it as a number of characters and of bytes. */
typedef struct {
    PyObject *text;
    const uint8_t *bytes;
    size_t size, byte;
    Py_ssize_t length, character;
} StrCursor;

/* The encoder and its caches. The references are borrowed. */
typedef struct {
    Encoder encoder;
    PyObject *young, *old; /* dicts of the ids of pieces */
    PyObject *fresh;       /* a dict: the ids that `young` does not have */
    PyObject *normalize;   /* a function that normalizes a piece */
    Py_ssize_t shortest;   /* the characters of the shortest piece that is looked up */
    char *seen;            /* sets of marks of the pieces that were encoded, as uint32, the last one first */
    size_t seen_count;     /* of sets */
} Pieces;

/* A step of the work: done, left to Python, or failed. */
typedef enum { FAILED = -1, DONE, REFUSED } Status;

/* Move a cursor forward to a character. */
static void move_to(StrCursor *cursor, Py_ssize_t character)
{
    size_t left = (size_t)(character - cursor->character), at = cursor->byte;
    if (cursor->size == (size_t)cursor->length)
        at = (size_t)character;
    else {
        for (; left >= 8 && cursor->size - at >= 8; at += 8)
            left -= begun_in_eight(cursor->bytes + at);
        for (; at < cursor->size && (left > 0 || is_inner(cursor->bytes[at])); at++)
            left -= !is_inner(cursor->bytes[at]);
    }
    cursor->byte = at;
    cursor->character = character;
}

/* Append the ids of a piece in a cache. */
static Status append_known(Encoder *encoder, PyObject *ids)
{
    if (!PyBytes_Check(ids) || PyBytes_Size(ids) % (Py_ssize_t)sizeof(uint32_t)) {
        PyErr_SetString(PyExc_TypeError, "the ids of a piece must be bytes of numbers with 32 bits");
        return FAILED;
    }
    size_t count = (size_t)PyBytes_Size(ids) / sizeof(uint32_t);
    if (encoder->capacity - encoder->count < count && grow_ids(encoder, count) < 0)
        return FAILED;
    if (count > 0)
        memcpy(encoder->ids + encoder->count, PyBytes_AsString(ids), count * sizeof(uint32_t));
    encoder->count += count;
    return DONE;
}

/* Return the ids of a piece in the caches as a new reference. NULL if there are none, or with an error. */
static PyObject *find_known(const Pieces *pieces, PyObject *piece)
{
    PyObject *ids = Py_XNewRef(PyDict_GetItemWithError(pieces->young, piece));
    if (ids != NULL || PyErr_Occurred())
        return ids;
    ids = Py_XNewRef(PyDict_GetItemWithError(pieces->old, piece));
    if (ids == NULL && !PyErr_Occurred())
        return Py_XNewRef(PyDict_GetItemWithError(pieces->fresh, piece));
    if (ids != NULL && PyDict_SetItem(pieces->fresh, piece, ids) < 0)
        Py_CLEAR(ids);
    return ids;
}

/* Return the piece of a text up to the place of a cursor. */
static PyObject *piece_of(const StrCursor *cursor, Py_ssize_t start)
{
    return PyUnicode_Substring(cursor->text, start, cursor->character);
}

/* Append the ids of a piece that the normalizer may change. */
static Status encode_normalized(Pieces *pieces, const StrCursor *cursor, Py_ssize_t start)
{
    PyObject *piece = piece_of(cursor, start);
    PyObject *written = piece == NULL ? NULL : PyObject_CallFunctionObjArgs(pieces->normalize, piece, NULL);
    /* A copy, as the other function would keep the bytes as long as the str. Raises if it is not one. */
    PyObject *encoded = written == NULL ? NULL : PyUnicode_AsUTF8String(written);
    Status status = FAILED;
    if (encoded != NULL) {
        const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(encoded);
        int failed = encode_bytes(&pieces->encoder, bytes, (size_t)PyBytes_Size(encoded), 1);
        status = failed < 0 ? FAILED : failed > 0 ? REFUSED : DONE;
    }
    Py_XDECREF(piece);
    Py_XDECREF(written);
    Py_XDECREF(encoded);
    return status;
}

/* Append the ids of the piece from a start up to the place of a cursor. */
static Status encode_new(Pieces *pieces, const StrCursor *cursor, Py_ssize_t start, const uint8_t *bytes, size_t size)
{
    int status = encode_bytes(&pieces->encoder, bytes, size, 0);
    return status < 0 ? FAILED : status > 0 ? encode_normalized(pieces, cursor, start) : DONE;
}

/* Append the ids of a piece from the caches, or encode it for them. */
static Status encode_long(Pieces *pieces, const StrCursor *cursor, Py_ssize_t start, const uint8_t *bytes, size_t size)
{
    PyObject *piece = piece_of(cursor, start), *ids = piece == NULL ? NULL : find_known(pieces, piece);
    Status status = FAILED;
    if (ids != NULL)
        status = append_known(&pieces->encoder, ids);
    else if (!PyErr_Occurred()) {
        size_t before = pieces->encoder.count;
        status = encode_new(pieces, cursor, start, bytes, size);
        if (status == DONE) {
            Py_ssize_t added = (Py_ssize_t)((pieces->encoder.count - before) * sizeof(uint32_t));
            ids = PyBytes_FromStringAndSize(added ? (const char *)(pieces->encoder.ids + before) : NULL, added);
            status = ids == NULL || PyDict_SetItem(pieces->fresh, piece, ids) < 0 ? FAILED : DONE;
        }
    }
    Py_XDECREF(piece);
    Py_XDECREF(ids);
    return status;
}

/* Return 1 if a piece with this size and these ends was encoded before, or if no marks are kept. A piece that is encoded
   for the first time is only marked: most never come again, and to copy each for a cache takes a tenth of a render. The
   mark becomes the first of its set. So pieces that come in turn are all found, unless they are more than a set has. */
static int was_seen(Pieces *pieces, const uint8_t *bytes, size_t size)
{
    if (pieces->seen_count == 0)
        return 1;
    const uint64_t hash = size <= 2 * SAMPLE
                              ? hash_long(bytes, size)
                              : mix(hash_long(bytes, SAMPLE) ^ mix(hash_long(bytes + size - SAMPLE, SAMPLE) ^ size));
    const uint32_t mark = (uint32_t)(hash >> 32) | 1;
    uint32_t known[MARKS];
    char *set = pieces->seen + (uint32_t)hash % pieces->seen_count * sizeof(known);
    memcpy(known, set, sizeof(known));
    uint32_t moved = mark;
    int found = 0;
    for (size_t at = 0; at < MARKS && !found; at++) {
        const uint32_t next = known[at];
        known[at] = moved;
        moved = next;
        found = next == mark;
    }
    memcpy(set, known, sizeof(known));
    return found;
}

/* Append the ids of the text from a cursor up to a character. */
static Status encode_piece(Pieces *pieces, StrCursor *cursor, Py_ssize_t end)
{
    Py_ssize_t start = cursor->character;
    const uint8_t *bytes = cursor->bytes + cursor->byte;
    if (start == end)
        return DONE;
    move_to(cursor, end);
    size_t size = (size_t)(cursor->bytes + cursor->byte - bytes);
    if (end - start < pieces->shortest || !was_seen(pieces, bytes, size))
        return encode_new(pieces, cursor, start, bytes, size);
    return encode_long(pieces, cursor, start, bytes, size);
}

/* Append the ids of a text. Write the borders of its parts, and the number of ids up to the end of each. */
static Status encode_all(Pieces *pieces, StrCursor *cursor, PyObject *marks, PyObject *added, int64_t *borders,
                         int64_t *ends)
{
    Encoder *encoder = &pieces->encoder;
    for (Py_ssize_t at = 0; at < PyList_Size(marks); at++) {
        PyObject *mark = PyList_GetItem(marks, at);
        Py_ssize_t start = place_in(mark, 0), end = place_in(mark, 1);
        if (start < cursor->character || end < start || end > cursor->length) {
            PyErr_SetString(PyExc_ValueError, "matches must be in order and within the text");
            return FAILED;
        }
        uint32_t id;
        *borders++ = cursor->character;
        *borders++ = start;
        Status status = encode_piece(pieces, cursor, start);
        *ends++ = (int64_t)encoder->count;
        if (status != DONE)
            return status;
        if (find_id(mark, added, &id) < 0 || append_id(encoder, id) < 0)
            return FAILED;
        *ends++ = (int64_t)encoder->count;
        move_to(cursor, end);
    }
    *borders++ = cursor->character;
    *borders = cursor->length;
    Status status = encode_piece(pieces, cursor, cursor->length);
    *ends = (int64_t)encoder->count;
    return status;
}

/* Return the ids of a text, the borders of its parts and the numbers of ids, None if the text is left to Python. */
static PyObject *encode_one(Pieces *pieces, StrCursor *cursor, PyObject *marks, PyObject *added)
{
    const Py_ssize_t width = (Py_ssize_t)sizeof(int64_t), count = PyList_Size(marks);
    PyObject *borders = PyBytes_FromStringAndSize(NULL, (2 * count + 2) * width), *ids = NULL, *result = NULL;
    PyObject *ends = PyBytes_FromStringAndSize(NULL, (2 * count + 1) * width);
    Status status = FAILED;
    Encoder *encoder = &pieces->encoder;
    encoder->count = 0;
    /* Most texts need no more, and a buffer that grows is copied. */
    const size_t expected = cursor->size / BYTES_PER_ID;
    if (borders != NULL && ends != NULL && (encoder->capacity >= expected || grow_ids(encoder, expected) == 0))
        status = encode_all(pieces, cursor, marks, added, (int64_t *)PyBytes_AsString(borders),
                            (int64_t *)PyBytes_AsString(ends));
    if (status == DONE) {
        Py_ssize_t size = (Py_ssize_t)(encoder->count * sizeof(uint32_t));
        ids = PyBytes_FromStringAndSize(size ? (const char *)encoder->ids : NULL, size);
    }
    if (status == REFUSED)
        result = Py_NewRef(Py_None);
    else if (ids != NULL)
        result = PyTuple_Pack(3, ids, borders, ends);
    Py_XDECREF(borders);
    Py_XDECREF(ends);
    Py_XDECREF(ids);
    return result;
}

/* Return the same for objects that may not be a text and a list of matches. */
static PyObject *encode_checked(Pieces *pieces, PyObject *text, PyObject *marks, PyObject *added)
{
    if (!PyUnicode_Check(text) || !PyList_Check(marks)) {
        PyErr_SetString(PyExc_TypeError, "texts must be of type str, each with a list of matches");
        return NULL;
    }
    Py_ssize_t size = 0;
    StrCursor cursor = {.text = text, .length = PyUnicode_GetLength(text)};
    cursor.bytes = (const uint8_t *)PyUnicode_AsUTF8AndSize(text, &size);
    cursor.size = (size_t)size;
    if (cursor.bytes == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError))
            return NULL;
        /* A lone surrogate. */
        PyErr_Clear();
        return Py_NewRef(Py_None);
    }
    PyObject *own_marks = copy_of_list(marks);
    PyObject *result = own_marks == NULL ? NULL : encode_one(pieces, &cursor, own_marks, added);
    Py_XDECREF(own_marks);
    return result;
}

/* Return the results of all texts as a tuple. */
static PyObject *encode_each(Pieces *pieces, PyObject *texts, PyObject *marks, PyObject *added)
{
    const Py_ssize_t count = PyTuple_Size(texts);
    if (PyTuple_Size(marks) != count) {
        PyErr_SetString(PyExc_ValueError, "each text must have a list of matches");
        return NULL;
    }
    PyObject *rows = PyTuple_New(count);
    /* Other threads run meanwhile, and must not find a tuple that is not filled. */
    if (rows != NULL)
        PyObject_GC_UnTrack(rows);
    for (Py_ssize_t at = 0; at < count && rows != NULL; at++)
        if (set_item(rows, at, encode_checked(pieces, PyTuple_GetItem(texts, at), PyTuple_GetItem(marks, at), added)))
            Py_CLEAR(rows);
    return rows;
}

PyObject *native_encode_parts(PyObject *Py_UNUSED(module), PyObject *args)
{
    Py_buffer block, cache, seen;
    PyObject *texts, *marks, *added, *rows = NULL, *result = NULL;
    Vocabulary vocabulary;
    Pieces pieces = {.encoder = {.vocabulary = &vocabulary}};
    if (!PyArg_ParseTuple(args, "y*w*w*O!O!O!O!O!nO:encode_parts", &block, &cache, &seen, &PyTuple_Type, &texts,
                          &PyTuple_Type, &marks, &PyDict_Type, &added, &PyDict_Type, &pieces.young, &PyDict_Type,
                          &pieces.old, &pieces.shortest, &pieces.normalize))
        return NULL;
    pieces.seen = seen.buf;
    pieces.seen_count = (size_t)seen.len / (MARKS * sizeof(uint32_t));
    pieces.fresh = PyDict_New();
    set_cache(&pieces.encoder, &cache);
    if (pieces.fresh != NULL && open_vocabulary(&block, &vocabulary) == 0)
        rows = encode_each(&pieces, texts, marks, added);
    if (pieces.encoder.failure != NO_FAILURE)
        raise_failure(&pieces.encoder);
    else if (rows != NULL)
        result = PyTuple_Pack(2, rows, pieces.fresh);
    free_encoder(&pieces.encoder);
    Py_XDECREF(rows);
    Py_XDECREF(pieces.fresh);
    PyBuffer_Release(&block);
    PyBuffer_Release(&cache);
    PyBuffer_Release(&seen);
    return result;
}
