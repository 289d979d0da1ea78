/* Split a text into words with the automata of its pre-tokenizer, and encode each. */

#include "bpe.h"

#define SCANNED 128 /* the characters that are scanned before their words are passed on */

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

/* The scan table of a stage. */
typedef struct {
    const uint16_t *columns; /* the place of the column of each byte */
    const uint8_t *entries;
    size_t last; /* the place of the last entry, 0 if the stage has no table */
} Scan;

/* Find the scan table of a stage. Return 0 if the block is damaged. */
static int find_scan(const Vocabulary *vocabulary, size_t stage, Scan *scan)
{
    const size_t place = vocabulary->stages[STAGE * stage + 2], count = vocabulary->scan_count;
    *scan = (Scan){0};
    if (place == NONE)
        return 1;
    if (place > count || count - place < SCAN_HEADER)
        return 0;
    const uint32_t *table = vocabulary->scans + place, *entries = table + SCAN_HEADER;
    if (table[0] < 2 || table[0] > count - place - SCAN_HEADER)
        return 0;
    *scan = (Scan){(const uint16_t *)(table + 1), (const uint8_t *)entries, sizeof(*entries) * (table[0] - 1)};
    return 1;
}

/* Pass on the words that a text begins with, as far as its characters are ASCII and the table knows their ends. Return
   the end of these words, NULL if it failed.

   The places where a word may end are written for each character, and kept if it does. So the processor has no branch to
   predict. */
static const uint8_t *scan_words(Encoder *encoder, size_t stage, const Scan *scan, const uint8_t *text,
                                 const uint8_t *end)
{
    const size_t size = (size_t)(end - text);
    size_t at = 0, word = 0, kept = 0;
    uint32_t entry = 0;
    while (at < size && !(entry & STOPS)) {
        size_t ends[3 * SCANNED], count = 0;
        const size_t limit = size - at > SCANNED ? at + SCANNED : size;
        for (; at < limit; at++) {
            const size_t place = (entry & ~(uint32_t)ENTRY_FLAGS) + scan->columns[text[at]];
            if (place > scan->last)
                goto damaged;
            memcpy(&entry, scan->entries + place, sizeof(entry));
            if (entry & STOPS)
                break;
            ends[count] = kept;
            count += entry & ENDS_EARLIER;
            ends[count] = at - 1;
            count += (entry & ENDS_BEFORE) / ENDS_BEFORE;
            ends[count] = at;
            count += (entry & ENDS_HERE) / ENDS_HERE;
            kept = entry & MATCHES ? at : kept;
        }
        for (size_t number = 0; number < count; number++) {
            const size_t stop = ends[number];
            /* The places of a damaged table are in any order. */
            if (stop <= word || stop > at)
                goto damaged;
            if (pass_on(encoder, stage + 1, text + word, text + stop) < 0)
                return NULL;
            word = stop;
        }
    }
    return text + word;
damaged:
    fail(encoder, DAMAGED);
    return NULL;
}

/* Pass the matches of a stage and the text between them to the next one. */
static int split_text(Encoder *encoder, size_t stage, const uint8_t *text, const uint8_t *end)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    const uint32_t start = vocabulary->stages[STAGE * stage];
    const int keeps_gaps = !(vocabulary->stages[STAGE * stage + 1] & DROPS_GAPS);
    const uint8_t *gap = text, *at = text;
    Scan scan;
    if (!find_scan(vocabulary, stage, &scan))
        return fail(encoder, DAMAGED);
    while (at < end) {
        if (scan.last > 0 && gap == at && *at < 0x80) {
            gap = at = scan_words(encoder, stage, &scan, at, end);
            if (at == NULL)
                return -1;
        }
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
