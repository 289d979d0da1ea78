/* Encode texts with a compiled vocabulary. `renderers.tokenizer.compiled.twin` does the same in Python.

   The block and the texts cannot change while they are in use. The global lock is released from time to time, so the
   cache belongs to one call at a time. */

#include "bpe.h"

#define RELEASE_AFTER 16384 /* the bytes that are encoded before the global lock is released */

int fail_damaged(void)
{
    PyErr_SetString(PyExc_ValueError, "a compiled vocabulary is damaged");
    return -1;
}

int fail(Encoder *encoder, Failure failure)
{
    encoder->failure = failure;
    return -1;
}

void raise_failure(const Encoder *encoder)
{
    if (encoder->failure == NO_MEMORY)
        PyErr_NoMemory();
    else
        fail_damaged();
}

int read_section(const Py_buffer *buffer, int number, uint64_t *start, uint64_t *size)
{
    const char *place = (const char *)buffer->buf + HEADER + 16 * number;
    memcpy(start, place, 8);
    memcpy(size, place + 8, 8);
    uint64_t total = (uint64_t)buffer->len;
    return *start % 64 || *start > total || *size > total - *start ? fail_damaged() : 0;
}

static int is_power_of_two(size_t number)
{
    return number > 0 && (number & (number - 1)) == 0;
}

int open_vocabulary(const Py_buffer *buffer, Vocabulary *vocabulary)
{
    const uint8_t *sections[SECTION_COUNT];
    size_t sizes[SECTION_COUNT];
    uint32_t version[2];
    if (buffer->len < HEADER + 16 * SECTION_COUNT || (uintptr_t)buffer->buf % 8 != 0 ||
        memcmp(buffer->buf, "RNDRBPE1", 8) != 0)
        return fail_damaged();
    memcpy(version, (const char *)buffer->buf + 8, 8);
    if (version[0] != FORMAT || version[1] != SECTION_COUNT)
        return fail_damaged();
    for (int number = 0; number < SECTION_COUNT; number++) {
        uint64_t start, size;
        if (read_section(buffer, number, &start, &size) < 0)
            return -1;
        sections[number] = (const uint8_t *)buffer->buf + start;
        sizes[number] = (size_t)size;
    }
    if (sizes[SETTINGS] < 16)
        return fail_damaged();
    const uint32_t *settings = (const uint32_t *)sections[SETTINGS];
    *vocabulary = (Vocabulary){
        .flags = settings[0],
        .longest = settings[1],
        .width = settings[2],
        .torn = settings[3],
        .starts = (const uint32_t *)sections[STARTS],
        .tokens = sizes[STARTS] / 8,
        .bytes = sections[BYTES],
        .bytes_size = sizes[BYTES],
        .words = (const Slot *)sections[WORDS],
        .word_mask = sizes[WORDS] / sizeof(Slot) - 1,
        .pairs = (const uint64_t *)sections[PAIRS],
        .pair_mask = sizes[PAIRS] / 8 - 1,
        .results = (const uint32_t *)sections[RESULTS],
        .merges = sizes[RESULTS] / 4,
        .byte_ids = (const uint32_t *)sections[BYTE_IDS],
        .byte_ranks = settings[0] & BY_CHARACTER ? NULL : (const uint32_t *)sections[BYTE_RANKS],
        .joins = sections[JOINS],
        .join_mask = (uint64_t)sizes[JOINS] * 8 - 1,
        .index = (const uint16_t *)sections[INDEX],
        .pages = sections[PAGES],
        .pages_size = sizes[PAGES],
        .class_flags = sections[CLASS_FLAGS],
        .orders = sections[ORDERS],
        .classes = sizes[CLASS_FLAGS],
        .stages = (const uint32_t *)sections[STAGES],
        .stage_count = sizes[STAGES] / (4 * STAGE),
        .transitions = (const uint32_t *)sections[TRANSITIONS],
        .transition_count = sizes[TRANSITIONS] / 4,
        .scans = (const uint32_t *)sections[SCANS],
        .scan_count = sizes[SCANS] / 4,
    };
    if (!is_power_of_two(sizes[WORDS] / sizeof(Slot)) || !is_power_of_two(sizes[PAIRS] / 8) ||
        !is_power_of_two(sizes[JOINS]) || sizes[BYTE_IDS] < 1024 || vocabulary->stage_count > MOST_STAGES ||
        (vocabulary->byte_ranks != NULL && sizes[BYTE_RANKS] < 65536 * 4))
        return fail_damaged();
    if (vocabulary->stage_count > 0) {
        if (sizes[INDEX] < 0x1100 * 2 || sizes[ORDERS] < vocabulary->classes)
            return fail_damaged();
        size_t page = (size_t)vocabulary->index[0] << 8;
        if (page + 256 > vocabulary->pages_size)
            return fail_damaged();
        vocabulary->ascii = vocabulary->pages + page;
        uint8_t last = 0;
        for (int character = 0; character < 0x80; character++)
            last = vocabulary->ascii[character] > last ? vocabulary->ascii[character] : last;
        /* So that the classes of ASCII are within the row of a state. */
        if (last >= vocabulary->width)
            return fail_damaged();
    }
    return 0;
}

/* Return 1 if NFC keeps a character that has an order, or that it can compose with the character before. */
static int keeps_place(const Vocabulary *vocabulary, const uint8_t *text, size_t at, uint32_t class)
{
    if (at == 0)
        return 1;
    size_t before = at - 1;
    while (before > 0 && (text[before] & 0xC0) == 0x80)
        before--;
    uint32_t other = class_of(vocabulary, read_character(text + before, at - before));
    if (other >= vocabulary->classes)
        return 0;
    uint8_t order = vocabulary->orders[other];
    if (vocabulary->class_flags[class] & SECOND && (vocabulary->class_flags[other] & FIRST || order != 0))
        return 0;
    return vocabulary->orders[class] == 0 || order <= vocabulary->orders[class];
}

/* Return 0 if the properties of a character are not known, or if the text is not normalized and NFC may change it. */
static int is_taken(const Vocabulary *vocabulary, const uint8_t *text, size_t size, int normalized)
{
    const uint8_t refused = normalized ? UNKNOWN_CLASS : UNKNOWN_CLASS | CHANGES, placed = normalized ? 0 : SECOND | MARK;
    if (vocabulary->stage_count == 0)
        return 1;
    for (size_t at = 0; at < size;) {
        if (at + 8 <= size && are_ascii(text + at)) {
            at += 8;
            continue;
        }
        const size_t step = character_size(text[at]);
        if (step == 1) {
            at++;
            continue;
        }
        /* A run of characters of one size: the place of each is known without those before it. */
        do {
            uint32_t class = class_of(vocabulary, read_character(text + at, step));
            if (class >= vocabulary->classes)
                return 0;
            uint8_t flags = vocabulary->class_flags[class];
            if (flags & refused || (flags & placed && !keeps_place(vocabulary, text, at, class)))
                return 0;
            at += step;
        } while (at < size && character_size(text[at]) == step);
    }
    return 1;
}

static int is_space(const uint8_t *text, const uint8_t *end)
{
    return end - text >= 3 && text[0] == 0xE2 && text[1] == 0x96 && text[2] == 0x81;
}

/* Encode a text with spaces instead of U+2581. */
static int encode_spaced(Encoder *encoder, const uint8_t *text, size_t size)
{
    const uint8_t *end = text + size, *at = text;
    while ((at = memchr(at, 0xE2, (size_t)(end - at))) != NULL && !is_space(at, end))
        at++;
    if (at == NULL)
        return encode_text(encoder, text, size);
    uint8_t *written = malloc(size);
    if (written == NULL)
        return fail(encoder, NO_MEMORY);
    size_t length = 0;
    for (at = text; at < end; at++)
        if (is_space(at, end)) {
            written[length++] = ' ';
            at += 2;
        } else
            written[length++] = *at;
    int failed = encode_text(encoder, written, length);
    free(written);
    return failed;
}

static int encode_piece_bytes(Encoder *encoder, const uint8_t *bytes, size_t size, int normalized)
{
    /* Merges take up to 24 bytes for each byte, and numbers of places 32 bits. */
    if (size > INT32_MAX / 4 || size > SIZE_MAX / 128 || !is_taken(encoder->vocabulary, bytes, size, normalized))
        return 1;
    if (encoder->vocabulary->flags & WRITES_SPACES)
        return encode_spaced(encoder, bytes, size);
    return encode_text(encoder, bytes, size);
}

int encode_bytes(Encoder *encoder, const uint8_t *bytes, size_t size, int normalized)
{
    encoder->unreleased += size;
    if (encoder->unreleased < RELEASE_AFTER)
        return encode_piece_bytes(encoder, bytes, size, normalized);
    encoder->unreleased = 0;
    PyThreadState *thread = PyEval_SaveThread();
    int status = encode_piece_bytes(encoder, bytes, size, normalized);
    PyEval_RestoreThread(thread);
    return status;
}

/* Encode a str. As `encode_bytes`. */
static int encode_str(Encoder *encoder, PyObject *text, int normalized)
{
    /* A copy. The other function would keep the bytes as long as the str, which caches keep for long. */
    PyObject *encoded = PyUnicode_AsUTF8String(text);
    if (encoded == NULL)
        return -1;
    const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(encoded);
    int status = encode_bytes(encoder, bytes, (size_t)PyBytes_Size(encoded), normalized);
    Py_DECREF(encoded);
    return status;
}

/* Return the ids of a str as bytes, None if it is left out. */
static PyObject *ids_of_str(Encoder *encoder, PyObject *text, int normalized)
{
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "a text to encode must be a str");
        return NULL;
    }
    encoder->count = 0;
    int status = encode_str(encoder, text, normalized);
    if (status < 0)
        return NULL;
    if (status > 0)
        return Py_NewRef(Py_None);
    return PyBytes_FromStringAndSize((const char *)encoder->ids, (Py_ssize_t)(encoder->count * sizeof(uint32_t)));
}

/* Return the ids of all texts of a list. No other code may have a reference to the list. */
static PyObject *ids_of_all(Encoder *encoder, PyObject *texts, int normalized)
{
    PyObject *result = PyList_New(0);
    for (Py_ssize_t at = 0; result != NULL && at < PyList_Size(texts); at++) {
        PyObject *ids = ids_of_str(encoder, PyList_GetItem(texts, at), normalized);
        if (ids == NULL || PyList_Append(result, ids) < 0)
            Py_CLEAR(result);
        Py_XDECREF(ids);
    }
    return result;
}

void set_cache(Encoder *encoder, const Py_buffer *cache)
{
    /* The lock is before the first set. Sets are aligned, so that each word is in one line of the processor's cache. */
    const size_t size = sizeof(CacheSet), least = sizeof(uint64_t);
    const size_t before = least + (size - ((uintptr_t)cache->buf + least) % size) % size;
    uint64_t *lock = cache->buf;
    size_t used = 1;
    if ((size_t)cache->len < before + size || (uintptr_t)cache->buf % sizeof(uint64_t) != 0 || *lock != 0)
        return;
    while (used * 2 <= ((size_t)cache->len - before) / size)
        used *= 2;
    *lock = 1;
    encoder->cache_lock = lock;
    encoder->cache = (CacheSet *)((uint8_t *)cache->buf + before);
    encoder->cache_mask = used - 1;
}

void free_encoder(Encoder *encoder)
{
    free(encoder->ids);
    free(encoder->scratch);
    if (encoder->cache_lock != NULL)
        *encoder->cache_lock = 0;
}

PyObject *native_encode_bpe(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *texts;
    Py_buffer block, cache;
    int normalized;
    if (!PyArg_ParseTuple(args, "y*O!w*p", &block, &PyList_Type, &texts, &cache, &normalized))
        return NULL;
    PyObject *own_texts = copy_of_list(texts), *result = NULL;
    Vocabulary vocabulary;
    Encoder encoder = {.vocabulary = &vocabulary};
    set_cache(&encoder, &cache);
    if (own_texts != NULL && open_vocabulary(&block, &vocabulary) == 0)
        result = ids_of_all(&encoder, own_texts, normalized);
    if (encoder.failure != NO_FAILURE)
        raise_failure(&encoder);
    free_encoder(&encoder);
    Py_XDECREF(own_texts);
    PyBuffer_Release(&block);
    PyBuffer_Release(&cache);
    return result;
}

PyObject *native_keeps_bpe(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *text, *result = NULL;
    Py_buffer block;
    if (!PyArg_ParseTuple(args, "y*U", &block, &text))
        return NULL;
    Vocabulary vocabulary;
    PyObject *encoded = open_vocabulary(&block, &vocabulary) == 0 ? PyUnicode_AsUTF8String(text) : NULL;
    if (encoded != NULL) {
        const uint8_t *bytes = (const uint8_t *)PyBytes_AsString(encoded);
        result = Py_NewRef(is_taken(&vocabulary, bytes, (size_t)PyBytes_Size(encoded), 0) ? Py_True : Py_False);
        Py_DECREF(encoded);
    }
    PyBuffer_Release(&block);
    return result;
}
