/* Split a text into words with the automata of its pre-tokenizer, and encode each. */

#include "bpe.h"

#define SCANNED 256 /* the characters of a lane, and up to `SEARCHED` more */
#define SEARCHED 32 /* the characters in which the first word of the next lane has to begin */
#define CHUNK 32    /* the bytes that are tested for ASCII together. Shorter lanes are not worth a second one */
#define LANE (SCANNED + SEARCHED + 1)

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
        if (count < width || state > count - width)
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

/* A part of a text that is scanned, and the characters at which the ends of words are found. */
typedef struct {
    uint32_t at, end;
    uint32_t kept;  /* a place where a word may end */
    uint32_t entry; /* the last one; it has `STOPS` if the table cannot follow the text */
    uint32_t count;
    uint32_t places[LANE], kept_places[LANE], entries[LANE];
} Lane;

/* What changes with each character of a lane. */
typedef struct {
    uint32_t at, kept, entry, count;
} Reading;

static ALWAYS_INLINE int has(uint32_t entry, int flag)
{
    return entry >> flag & 1;
}

/* Return the entry for a byte after another entry. */
static ALWAYS_INLINE uint32_t entry_after(const Scan *scan, uint32_t entry, uint8_t byte)
{
    const size_t place = (entry & NEXT_ROW) + scan->columns[byte];
    if (place > scan->last)
        return (uint32_t)1 << STOPS;
    memcpy(&entry, scan->entries + place, sizeof(entry));
    return entry;
}

/* Go to the next character. Each is written as one at which words end, and kept if it is. So the processor has no branch
   to predict. */
static ALWAYS_INLINE Reading follow(Lane *lane, Reading reading, uint32_t entry)
{
    lane->places[reading.count] = reading.at;
    lane->kept_places[reading.count] = reading.kept;
    lane->entries[reading.count] = entry;
    return (Reading){
        reading.at + 1,
        has(entry, MATCHES) ? reading.at : reading.kept,
        entry,
        reading.count + (entry >> ENDS),
    };
}

static ALWAYS_INLINE Reading begin_reading(const Lane *lane)
{
    return (Reading){lane->at, lane->kept, lane->entry, lane->count};
}

static ALWAYS_INLINE void end_reading(Lane *lane, Reading reading)
{
    lane->at = reading.at;
    lane->kept = reading.kept;
    lane->entry = reading.entry;
    lane->count = reading.count;
}

/* Scan a lane to its end, or up to a character that the table cannot follow. */
static void scan_lane(const Scan *scan, const uint8_t *text, Lane *lane)
{
    const uint32_t end = lane->end;
    Reading reading = begin_reading(lane);
    while (reading.at < end) {
        const uint32_t entry = entry_after(scan, reading.entry, text[reading.at]);
        if (has(entry, STOPS)) {
            reading.entry = entry;
            break;
        }
        reading = follow(lane, reading, entry);
    }
    end_reading(lane, reading);
}

/* Scan characters of two lanes at the same time. An entry is found by the one before, and the processor waits for it. So
   two lanes take little longer than one. */
static void scan_both(const Scan *scan, const uint8_t *text, Lane *lane, Lane *next)
{
    const uint32_t end = lane->end, next_end = next->end;
    Reading reading = begin_reading(lane), other = begin_reading(next);
    while (reading.at < end && other.at < next_end) {
        const uint32_t entry = entry_after(scan, reading.entry, text[reading.at]);
        const uint32_t other_entry = entry_after(scan, other.entry, text[other.at]);
        if (has(entry | other_entry, STOPS))
            break;
        reading = follow(lane, reading, entry);
        other = follow(next, other, other_entry);
    }
    end_reading(lane, reading);
    end_reading(next, other);
}

/* Return the first place from `at` on where a word probably begins, 0 if it is not near. */
static uint32_t find_word_start(const Scan *scan, const uint8_t *text, uint32_t at, uint32_t end)
{
    end = end - at > SEARCHED ? at + SEARCHED : end;
    for (; at < end; at++)
        if (has(entry_after(scan, entry_after(scan, 0, text[at - 1]), text[at]), ENDS_HERE))
            return at;
    return 0;
}

/* Return 1 if a text is ASCII, but for less than `CHUNK` bytes at its end. */
static int is_mostly_ascii(const uint8_t *text, size_t size)
{
    for (; size >= CHUNK; text += CHUNK, size -= CHUNK) {
        uint8_t any = 0;
        for (size_t at = 0; at < CHUNK; at++)
            any |= text[at];
        if (any >= 0x80)
            return 0;
    }
    return 1;
}

/* Pass on the words of a lane. `word` is the start of the first one, and then of the word after the last one. */
static int pass_words(Encoder *encoder, size_t stage, const uint8_t *text, const Lane *lane, uint32_t *word)
{
    uint32_t ends[3 * LANE], count = 0;
    for (uint32_t number = 0; number < lane->count; number++) {
        const uint32_t entry = lane->entries[number], at = lane->places[number];
        ends[count] = lane->kept_places[number];
        count += has(entry, ENDS_EARLIER);
        ends[count] = at - 1;
        count += has(entry, ENDS_BEFORE);
        ends[count] = at;
        count += has(entry, ENDS_HERE);
    }
    for (uint32_t number = 0; number < count; number++) {
        const uint32_t end = ends[number];
        /* The places of a damaged table are in any order, and within characters. */
        if (end <= *word || end >= lane->at || is_inner(text[end]))
            return fail(encoder, DAMAGED);
        if (pass_on(encoder, stage + 1, text + *word, text + end) < 0)
            return -1;
        *word = end;
    }
    return 0;
}

/* Pass on the words that a text begins with, as far as its characters are ASCII and the table knows their ends. Return
   the end of these words, NULL if it failed. */
static const uint8_t *scan_words(Encoder *encoder, size_t stage, const Scan *scan, const uint8_t *text,
                                 const uint8_t *end)
{
    const uint32_t size = (uint32_t)(end - text);
    uint32_t word = 0;
    Lane lanes[2], *lane = &lanes[0], *next = &lanes[1];
    lane->at = lane->kept = lane->entry = 0;
    while (lane->at < size && !has(lane->entry, STOPS)) {
        const uint32_t left = size - lane->at, half = left < 2 * SCANNED ? left / 2 : SCANNED;
        /* Two lanes take longer than one if the table can follow only few characters. */
        const int is_split = half >= CHUNK && is_mostly_ascii(text + lane->at, 2 * half);
        const uint32_t start = is_split ? find_word_start(scan, text, lane->at + half, size) : 0;
        lane->count = 0;
        lane->end = start > 0 ? start + 1 : left > SCANNED ? lane->at + SCANNED : size;
        if (start > 0) {
            next->at = next->kept = start;
            next->entry = next->count = 0;
            next->end = size - start > SCANNED ? start + SCANNED : size;
            scan_both(scan, text, lane, next);
        }
        scan_lane(scan, text, lane);
        if (pass_words(encoder, stage, text, lane, &word) < 0)
            return NULL;
        /* An entry that ends a word before a character leads to the same row as that character at the start of a text. */
        if (start > 0 && lane->at == lane->end && has(lane->entry, ENDS_HERE)) {
            scan_lane(scan, text, next);
            if (pass_words(encoder, stage, text, next, &word) < 0)
                return NULL;
            Lane *scanned = lane;
            lane = next;
            next = scanned;
        }
    }
    return text + word;
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
