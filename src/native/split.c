/* Split a text into words with the automata of its pre-tokenizer, and encode each. */

#include "bpe.h"

/* Return the last character of a run with the size of the first one that all lead to the same state. They are not ASCII.
   None waits for the one before, because neither its place nor its state depends on that. */
static inline const uint8_t *skip_alike(const Vocabulary *vocabulary, const uint32_t *row, const uint8_t *at,
                                        const uint8_t *end, uint32_t next)
{
    const size_t size = character_size(*at);
    for (; (size_t)(end - at) > size && character_size(at[size]) == size; at += size) {
        uint32_t class = class_of(vocabulary, read_character(at + size, size));
        if (class >= vocabulary->width || row[class] != next)
            break;
    }
    return at;
}

/* Return the end of the match at the start of a text, its start if there is none. NULL if the block is damaged. */
static inline const uint8_t *find_match(const Vocabulary *vocabulary, uint32_t state, const uint8_t *text,
                                        const uint8_t *end)
{
    const uint8_t *ascii = vocabulary->ascii, *last = text, *at = text;
    const size_t width = vocabulary->width, count = vocabulary->transition_count;
    for (;;) {
        if (state + width > count)
            return NULL;
        const uint32_t *row = vocabulary->transitions + state;
        if (at == end)
            return row[width - 1] & ACCEPT ? end : last;
        uint32_t next;
        size_t step = 1;
        if (*at < 0x80) {
            next = row[ascii[*at]];
            /* While the state stays the same, no character has to wait for the one before. */
            if ((next & ~ACCEPT) == state)
                while (at + 1 < end && at[1] < 0x80 && row[ascii[at[1]]] == next)
                    at++;
        } else {
            step = character_size(*at);
            size_t place = state + class_of(vocabulary, read_character(at, step));
            if (place >= count)
                return NULL;
            next = vocabulary->transitions[place];
            if ((next & ~ACCEPT) == state)
                at = skip_alike(vocabulary, row, at, end, next);
        }
        last = next & ACCEPT ? at : last;
        at += step;
        state = next & ~ACCEPT;
        if (state == 0)
            return last;
    }
}

/* Append the ids of all pending words. */
static int encode_pending(Encoder *encoder)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    const uint32_t single = vocabulary->flags & IGNORES_MERGES ? UINT32_MAX : PRODUCED;
    const size_t count = encoder->pending_count;
    encoder->pending_count = 0;
    for (size_t at = 0; at < count; at++) {
        Pending *word = &encoder->pending[at];
        word->meta = word->size > vocabulary->longest ? 0 : find_key(vocabulary, &word->key, word->start);
        if (!(word->meta & single) && encoder->cache != NULL) {
            const CacheSet *set = &encoder->cache[word->key.hash & encoder->cache_mask];
            PREFETCH(&set->words[0]);
            PREFETCH(&set->words[1]);
        }
    }
    for (size_t at = 0; at < count; at++) {
        const Pending *word = &encoder->pending[at];
        if ((word->meta & single ? append_id(encoder, word->meta >> ID_SHIFT)
                                 : encode_word(encoder, word->start, word->size, word->key.hash)) < 0)
            return -1;
    }
    return 0;
}

static ALWAYS_INLINE int add_word(Encoder *encoder, const uint8_t *word, size_t size)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    Pending *entry = &encoder->pending[encoder->pending_count++];
    entry->start = word;
    entry->size = size;
    entry->key.hash = 0;
    if (size <= vocabulary->longest || size <= LONGEST_CACHED) {
        entry->key = key_of(word, size, encoder->limit);
        PREFETCH(&vocabulary->words[entry->key.hash & vocabulary->word_mask]);
    }
    return encoder->pending_count == PENDING ? encode_pending(encoder) : 0;
}

static int split_text(Encoder *encoder, size_t stage, const uint8_t *text, const uint8_t *end);

static inline int pass_on(Encoder *encoder, size_t stage, const uint8_t *text, const uint8_t *end)
{
    if (stage == encoder->vocabulary->stage_count)
        return add_word(encoder, text, (size_t)(end - text));
    return split_text(encoder, stage, text, end);
}

/* Pass the matches of a stage and the text between them to the next one. */
static int split_text(Encoder *encoder, size_t stage, const uint8_t *text, const uint8_t *end)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    const uint32_t start = vocabulary->stages[2 * stage];
    const int keeps_gaps = !(vocabulary->stages[2 * stage + 1] & DROPS_GAPS);
    const uint8_t *gap = text, *at = text;
    while (at < end) {
        const uint8_t *match = find_match(vocabulary, start, at, end);
        if (match == NULL)
            return fail(encoder, DAMAGED);
        if (match == at) {
            at += character_size(*at);
            continue;
        }
        if (gap < at && keeps_gaps && pass_on(encoder, stage + 1, gap, at) < 0)
            return -1;
        if (pass_on(encoder, stage + 1, at, match) < 0)
            return -1;
        gap = at = match;
    }
    return gap < end && keeps_gaps ? pass_on(encoder, stage + 1, gap, end) : 0;
}

int encode_text(Encoder *encoder, const uint8_t *text, size_t size)
{
    encoder->limit = text + size;
    if (size == 0)
        return 0;
    encoder->pending_count = 0;
    /* If merges begin with characters, a text is one word. Its parts are looked up as words are. */
    int failed = encoder->vocabulary->flags & BY_CHARACTER ? cut(encoder, text, size, add_word)
                                                           : pass_on(encoder, 0, text, text + size);
    return failed < 0 ? -1 : encode_pending(encoder);
}
