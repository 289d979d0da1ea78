/* Fill the tables of a compiled vocabulary. `renderers.tokenizer.compiled.twin` does the same in Python. */

#include "bpe.h"

/* A block that is being built: the tables are also written to. */
typedef struct {
    Vocabulary vocabulary;
    uint8_t *sections[SECTION_COUNT];
} Draft;

static void fill_pairs(Draft *draft, const uint32_t *merges, size_t count)
{
    uint64_t *pairs = (uint64_t *)draft->sections[PAIRS];
    size_t mask = draft->vocabulary.pair_mask;
    memset(pairs, 0xFF, (mask + 1) * sizeof(uint64_t));
    for (size_t rank = 0; rank < count; rank++) {
        uint64_t key = (uint64_t)merges[2 * rank] << PAIR_BITS | merges[2 * rank + 1];
        size_t at = (size_t)mix(key) & mask;
        /* The last of equal pairs counts. */
        while (pairs[at] != EMPTY_PAIR && pairs[at] >> RANK_BITS != key)
            at = (at + 1) & mask;
        pairs[at] = key << RANK_BITS | rank;
    }
}

static void fill_byte_ranks(Draft *draft)
{
    const uint32_t *ids = draft->vocabulary.byte_ids;
    uint32_t *ranks = (uint32_t *)draft->sections[BYTE_RANKS];
    for (size_t pair = 0; pair < 65536; pair++) {
        uint32_t left = ids[pair >> 8], right = ids[pair & 0xFF];
        ranks[pair] = left == NONE || right == NONE ? NONE : find_rank(&draft->vocabulary, left, right);
    }
}

/* Return the text of a token of the model, NULL if an id has none. */
static const uint8_t *model_text(const Draft *draft, const uint8_t *model, size_t id, size_t *size)
{
    const uint32_t *place = draft->vocabulary.starts + 2 * id;
    *size = place[1];
    if (!model[id] || place[1] == 0 || (uint64_t)place[0] + place[1] > draft->vocabulary.bytes_size)
        return NULL;
    return draft->vocabulary.bytes + place[0];
}

static void fill_words(Draft *draft, const uint8_t *model)
{
    Slot *words = (Slot *)draft->sections[WORDS];
    size_t mask = draft->vocabulary.word_mask, size;
    const uint8_t *limit = draft->vocabulary.bytes + draft->vocabulary.bytes_size;
    memset(words, 0, (mask + 1) * sizeof(Slot));
    for (size_t id = 0; id < draft->vocabulary.tokens; id++) {
        const uint8_t *text = model_text(draft, model, id, &size);
        if (text == NULL)
            continue;
        Slot slot = {.meta = (uint32_t)id << ID_SHIFT | (uint32_t)(size <= SHORT ? size : LONG_WORD)};
        uint64_t hash;
        if (size <= SHORT) {
            load_short(text, size, limit, &slot.low, &slot.high);
            hash = hash_short(slot.low, slot.high, size);
        } else {
            slot.low = hash = hash_long(text, size);
            slot.high = (uint32_t)size;
        }
        size_t at = (size_t)hash & mask;
        while (words[at].meta != 0)
            at = (at + 1) & mask;
        words[at] = slot;
    }
}

/* Mark the tokens that merges produce from their own bytes. */
static int mark_produced(Draft *draft, const uint8_t *model)
{
    Vocabulary *vocabulary = &draft->vocabulary;
    Encoder encoder = {.vocabulary = vocabulary, .limit = vocabulary->bytes + vocabulary->bytes_size};
    Slot *words = (Slot *)draft->sections[WORDS];
    int failed = 0;
    for (size_t at = 0; at <= vocabulary->word_mask && !failed; at++) {
        const uint32_t id = words[at].meta >> ID_SHIFT;
        if (words[at].meta == 0)
            continue;
        size_t size;
        const uint8_t *text = id < vocabulary->tokens ? model_text(draft, model, id, &size) : NULL;
        encoder.count = 0;
        failed = (text == NULL ? fail(&encoder, DAMAGED) : merge_part(&encoder, text, size)) < 0;
        if (!failed && encoder.count == 1 && encoder.ids[0] == id)
            words[at].meta |= PRODUCED;
    }
    if (failed)
        raise_failure(&encoder);
    free_encoder(&encoder);
    return failed ? -1 : 0;
}

static void set_join(Draft *draft, uint32_t left, uint32_t right)
{
    uint64_t bit = join_bit(&draft->vocabulary, left, right);
    draft->sections[JOINS][bit >> 3] |= (uint8_t)(1 << (bit & 7));
}

/* Set the bits of the characters that are next to each other in a token. Return the kinds of torn tokens. */
static uint32_t join_characters(Draft *draft, const uint8_t *text, size_t size)
{
    uint32_t torn = 0;
    size_t left = 0;
    for (size_t at = 1; at < size; at++) {
        if ((text[at] & 0xC0) == 0x80)
            continue;
        int whole_left = (text[left] & 0xC0) != 0x80 && character_size(text[left]) == at - left;
        size_t end = at + 1;
        while (end < size && (text[end] & 0xC0) == 0x80)
            end++;
        int whole_right = character_size(text[at]) == end - at;
        uint32_t first = whole_left ? read_character(text + left, at - left) : PARTIAL | text[at - 1];
        uint32_t second = whole_right ? read_character(text + at, end - at) : PARTIAL | text[at];
        set_join(draft, first, second);
        if (!whole_left || !whole_right)
            torn |= whole_left ? TORN_RIGHT : whole_right ? TORN_LEFT : TORN_BOTH;
        left = at;
    }
    return torn;
}

static int fill_tables(Draft *draft, const uint8_t *model, const Py_buffer *merges)
{
    Vocabulary *vocabulary = &draft->vocabulary;
    size_t count = (size_t)merges->len / 8, words = 0, size;
    for (size_t id = 0; id < vocabulary->tokens; id++)
        words += model[id] != 0;
    /* Every search must end at an empty slot. */
    if (count > vocabulary->pair_mask || words > vocabulary->word_mask || count != vocabulary->merges ||
        count >= (size_t)1 << RANK_BITS || vocabulary->tokens >= (size_t)1 << PAIR_BITS)
        return fail_damaged();
    fill_pairs(draft, merges->buf, count);
    if (vocabulary->byte_ranks != NULL)
        fill_byte_ranks(draft);
    fill_words(draft, model);
    uint32_t torn = 0;
    for (size_t id = 0; id < vocabulary->tokens; id++) {
        const uint8_t *text = model_text(draft, model, id, &size);
        if (text != NULL)
            torn |= join_characters(draft, text, size);
    }
    ((uint32_t *)draft->sections[SETTINGS])[3] = torn;
    return mark_produced(draft, model);
}

PyObject *native_fill_bpe(PyObject *module, PyObject *args)
{
    (void)module;
    Py_buffer block, merges, model;
    if (!PyArg_ParseTuple(args, "w*y*y*", &block, &merges, &model))
        return NULL;
    Draft draft;
    int failed = open_vocabulary(&block, &draft.vocabulary);
    for (int number = 0; number < SECTION_COUNT && !failed; number++) {
        uint64_t start, size;
        failed = read_section(&block, number, &start, &size);
        draft.sections[number] = (uint8_t *)block.buf + start;
    }
    if (!failed && ((size_t)model.len != draft.vocabulary.tokens || (merges.len > 0 && (uintptr_t)merges.buf % 4 != 0)))
        failed = fail_damaged();
    if (!failed)
        failed = fill_tables(&draft, model.buf, &merges);
    PyBuffer_Release(&block);
    PyBuffer_Release(&merges);
    PyBuffer_Release(&model);
    return failed ? NULL : Py_NewRef(Py_None);
}
