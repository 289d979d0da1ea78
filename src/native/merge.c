/* Encode words that are not tokens: cut them where no token can cross, and merge the rest. */

#include "bpe.h"

#define MOST_CACHED 12 /* the most ids of a word in the cache */
#define CACHED_BITS 21 /* the bits of each */
#define FEW 48         /* the most symbols that are searched one by one for the next merge */

int grow_ids(Encoder *encoder, size_t more)
{
    size_t capacity = encoder->capacity + encoder->capacity / 2 + more + 64;
    if (capacity > (size_t)PY_SSIZE_T_MAX / 8)
        return fail(encoder, NO_MEMORY);
    uint32_t *ids = realloc(encoder->ids, capacity * sizeof(uint32_t));
    if (ids == NULL)
        return fail(encoder, NO_MEMORY);
    encoder->ids = ids;
    encoder->capacity = capacity;
    return 0;
}

static void *reserve(Encoder *encoder, size_t size)
{
    if (encoder->scratch_size < size) {
        void *memory = realloc(encoder->scratch, size);
        if (memory == NULL) {
            fail(encoder, NO_MEMORY);
            return NULL;
        }
        encoder->scratch = memory;
        encoder->scratch_size = size;
    }
    return encoder->scratch;
}

/* Write the ids that the merges of a part begin with. Return their number. There is room for one for each byte. */
static size_t first_ids(const Encoder *encoder, const uint8_t *part, size_t size, uint32_t *ids)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    if (!(vocabulary->flags & BY_CHARACTER)) {
        for (size_t at = 0; at < size; at++)
            ids[at] = vocabulary->byte_ids[part[at]];
        return size;
    }
    size_t count = 0;
    for (size_t at = 0; at < size;) {
        size_t step = character_size(part[at]);
        step = step < size - at ? step : size - at;
        uint32_t meta = find_word(vocabulary, part + at, step, encoder->limit);
        if (meta != 0)
            ids[count++] = meta >> ID_SHIFT;
        else
            for (size_t byte = 0; byte < step; byte++)
                ids[count++] = vocabulary->byte_ids[part[at + byte]];
        at += step;
    }
    return count;
}

static inline uint32_t first_rank(const Vocabulary *vocabulary, const uint32_t *ids, const uint8_t *part, size_t at)
{
    if (vocabulary->byte_ranks != NULL)
        return vocabulary->byte_ranks[(size_t)part[at] << 8 | part[at + 1]];
    return find_rank(vocabulary, ids[at], ids[at + 1]);
}

/* Merge few symbols: the lowest rank first, and the leftmost of equal ones. Return the number of ids left. */
static size_t merge_few(const Vocabulary *vocabulary, uint32_t *ids, uint32_t *ranks, size_t count)
{
    while (count > 1) {
        size_t best = 0;
        uint32_t rank = ranks[0];
        for (size_t at = 1; at + 1 < count; at++)
            if (ranks[at] < rank) {
                rank = ranks[at];
                best = at;
            }
        if (rank >= vocabulary->merges)
            break;
        ids[best] = vocabulary->results[rank];
        count--;
        if (best > 0)
            prefetch_rank(vocabulary, ids[best - 1], ids[best]);
        memmove(ids + best + 1, ids + best + 2, (count - best - 1) * sizeof(uint32_t));
        if (best + 1 < count) {
            memmove(ranks + best + 1, ranks + best + 2, (count - best - 1) * sizeof(uint32_t));
            ranks[best] = find_rank(vocabulary, ids[best], ids[best + 1]);
        }
        if (best > 0)
            ranks[best - 1] = find_rank(vocabulary, ids[best - 1], ids[best]);
    }
    return count;
}

/* A symbol of a long word. Its merge is with the next one. */
typedef struct {
    uint32_t id, rank, before, after;
} Symbol;

static void push(uint64_t *heap, size_t *size, uint64_t entry)
{
    size_t at = (*size)++;
    while (at > 0 && heap[(at - 1) / 2] > entry) {
        heap[at] = heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    heap[at] = entry;
}

static uint64_t pop(uint64_t *heap, size_t *size)
{
    uint64_t first = heap[0], entry = heap[--*size];
    size_t at = 0;
    for (;;) {
        size_t child = 2 * at + 1;
        if (child >= *size)
            break;
        if (child + 1 < *size && heap[child + 1] < heap[child])
            child++;
        if (entry <= heap[child])
            break;
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = entry;
    return first;
}

static void set_rank(const Vocabulary *vocabulary, Symbol *symbols, uint32_t at, uint64_t *heap, size_t *size)
{
    uint32_t after = symbols[at].after;
    uint32_t rank = after == NONE ? NONE : find_rank(vocabulary, symbols[at].id, symbols[after].id);
    symbols[at].rank = rank;
    if (rank < vocabulary->merges)
        push(heap, size, (uint64_t)rank << 32 | at);
}

/* Merge many symbols, with a heap of the possible merges: each merge adds two at most. */
static int merge_many(Encoder *encoder, const uint8_t *part, const uint32_t *ids, size_t count)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    Symbol *symbols = malloc(count * sizeof(Symbol));
    uint64_t *heap = malloc(3 * count * sizeof(uint64_t));
    if (symbols == NULL || heap == NULL) {
        free(symbols);
        free(heap);
        return fail(encoder, NO_MEMORY);
    }
    size_t size = 0;
    for (uint32_t at = 0; at < count; at++) {
        uint32_t rank = at + 1 < count ? first_rank(vocabulary, ids, part, at) : NONE;
        symbols[at] = (Symbol){ids[at], rank, at - 1, at + 1 < count ? at + 1 : NONE};
        if (rank < vocabulary->merges)
            push(heap, &size, (uint64_t)rank << 32 | at);
    }
    while (size > 0) {
        uint64_t entry = pop(heap, &size);
        uint32_t at = (uint32_t)entry, rank = (uint32_t)(entry >> 32), after;
        /* The rank of a symbol that is gone is `NONE`. */
        if (symbols[at].rank != rank)
            continue;
        after = symbols[at].after;
        symbols[at].id = vocabulary->results[rank];
        symbols[at].after = symbols[after].after;
        symbols[after].rank = NONE;
        if (symbols[at].after != NONE)
            symbols[symbols[at].after].before = at;
        set_rank(vocabulary, symbols, at, heap, &size);
        if (at > 0)
            set_rank(vocabulary, symbols, symbols[at].before, heap, &size);
    }
    for (uint32_t at = 0; at != NONE; at = symbols[at].after)
        encoder->ids[encoder->count++] = symbols[at].id;
    free(symbols);
    free(heap);
    return 0;
}

int merge_part(Encoder *encoder, const uint8_t *part, size_t size)
{
    if (encoder->capacity - encoder->count < size && grow_ids(encoder, size) < 0)
        return -1;
    if (size <= FEW) {
        uint32_t ranks[FEW], *ids = encoder->ids + encoder->count;
        size_t count = first_ids(encoder, part, size, ids);
        for (size_t at = 0; at + 1 < count; at++)
            ranks[at] = first_rank(encoder->vocabulary, ids, part, at);
        encoder->count += merge_few(encoder->vocabulary, ids, ranks, count);
        return 0;
    }
    uint32_t *ids = reserve(encoder, size * sizeof(uint32_t));
    return ids == NULL ? -1 : merge_many(encoder, part, ids, first_ids(encoder, part, size, ids));
}

/* Read the key of a word of up to 31 bytes in the cache. Bytes before `limit` can be read. */
static void load_cache_key(const uint8_t *word, size_t size, const uint8_t *limit, uint64_t key[4])
{
    if (limit - word >= 32) {
        memcpy(key, word, 32);
        for (size_t at = 0; at < 4; at++) {
            size_t own = size > 8 * at ? size - 8 * at : 0;
            key[at] &= own >= 8 ? UINT64_MAX : ((uint64_t)1 << (8 * own)) - 1;
        }
    } else {
        memset(key, 0, 32);
        memcpy(key, word, size);
    }
    key[3] |= (uint64_t)size << 56;
}

/* Append the ids of a cached word and return 1, or return 0 if it is another one. */
static int append_cached(Encoder *encoder, const CachedWord *word, const uint64_t key[4])
{
    const uint32_t id_mask = ((uint32_t)1 << CACHED_BITS) - 1;
    if (memcmp(word->key, key, 32) != 0)
        return 0;
    if (encoder->capacity - encoder->count < MOST_CACHED && grow_ids(encoder, MOST_CACHED) < 0)
        return -1;
    uint32_t *ids = encoder->ids + encoder->count;
    size_t count = 0;
    for (size_t at = 0; at < 4; at++) {
        const uint64_t packed = word->ids[at];
        for (size_t place = 0; place < 3; place++)
            *ids++ = (uint32_t)(packed >> (CACHED_BITS * place)) & id_mask;
        count |= (size_t)(packed >> 63) << at;
    }
    /* Not all numbers in a damaged cache are possible. */
    encoder->count += count <= MOST_CACHED ? count : MOST_CACHED;
    return 1;
}

/* Make a word the first one of a set, with the ids from `start` on. */
static void add_cached(const Encoder *encoder, CacheSet *set, const uint64_t key[4], size_t start)
{
    const size_t count = encoder->count - start;
    const uint32_t *ids = encoder->ids + start;
    CachedWord word = {{key[0], key[1], key[2], key[3]}, {0}};
    if (count > MOST_CACHED)
        return;
    for (size_t at = 0; at < count; at++) {
        if (ids[at] >> CACHED_BITS)
            return;
        word.ids[at / 3] |= (uint64_t)ids[at] << (CACHED_BITS * (at % 3));
    }
    for (size_t at = 0; at < 4; at++)
        word.ids[at] |= (uint64_t)(count >> at & 1) << 63;
    set->words[1] = set->words[0];
    set->words[0] = word;
}

/* Append the ids of some bytes: those in the cache, else those that a function appends. */
static int encode_cached(Encoder *encoder, const uint8_t *bytes, size_t size, uint64_t hash, AppendPart append)
{
    if (encoder->cache == NULL || size > LONGEST_CACHED)
        return append(encoder, bytes, size);
    uint64_t key[4];
    load_cache_key(bytes, size, encoder->limit, key);
    CacheSet *set = &encoder->cache[hash & encoder->cache_mask];
    size_t start = encoder->count;
    int done = append_cached(encoder, &set->words[0], key);
    if (done == 0)
        done = append_cached(encoder, &set->words[1], key);
    if (done != 0)
        return done < 0 ? -1 : 0;
    if (append(encoder, bytes, size) < 0)
        return -1;
    add_cached(encoder, set, key, start);
    return 0;
}

static inline int has_join(const Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    uint64_t bit = join_bit(vocabulary, left, right);
    return vocabulary->joins[bit >> 3] >> (bit & 7) & 1;
}

/* Return 0 if no token contains the end of one character and the start of the next. */
static inline int may_join(const Vocabulary *vocabulary, uint32_t left, uint8_t last, uint32_t right, uint8_t first)
{
    uint32_t torn = vocabulary->torn;
    return has_join(vocabulary, left, right) ||
           (torn & TORN_RIGHT && right >= 0x80 && has_join(vocabulary, left, PARTIAL | first)) ||
           (torn & TORN_LEFT && left >= 0x80 && has_join(vocabulary, PARTIAL | last, right)) ||
           (torn & TORN_BOTH && left >= 0x80 && right >= 0x80 && has_join(vocabulary, PARTIAL | last, PARTIAL | first));
}

int cut(Encoder *encoder, const uint8_t *text, size_t size, AppendPart append)
{
    const Vocabulary *vocabulary = encoder->vocabulary;
    size_t start = 0, at = character_size(text[0]);
    uint32_t left = read_character(text, at);
    while (at < size) {
        size_t width = character_size(text[at]);
        uint32_t right = read_character(text + at, width);
        if (!may_join(vocabulary, left, text[at - 1], right, text[at])) {
            if (append(encoder, text + start, at - start) < 0)
                return -1;
            start = at;
        }
        left = right;
        at += width;
    }
    return append(encoder, text + start, size - start);
}

/* Append the ids of a part of a word that nothing else of the word can join. */
static int encode_part(Encoder *encoder, const uint8_t *part, size_t size)
{
    uint32_t meta = find_word(encoder->vocabulary, part, size, encoder->limit);
    return meta & PRODUCED ? append_id(encoder, meta >> ID_SHIFT) : merge_part(encoder, part, size);
}

static int encode_part_cached(Encoder *encoder, const uint8_t *part, size_t size)
{
    Key key = key_of(part, size, encoder->limit);
    uint32_t meta = size > encoder->vocabulary->longest ? 0 : find_key(encoder->vocabulary, &key, part);
    if (meta & PRODUCED)
        return append_id(encoder, meta >> ID_SHIFT);
    return encode_cached(encoder, part, size, key.hash, merge_part);
}

static int encode_parts(Encoder *encoder, const uint8_t *word, size_t size)
{
    /* The parts of a word that is in the cache are not needed there. */
    return cut(encoder, word, size, size > LONGEST_CACHED ? encode_part_cached : encode_part);
}

int encode_word(Encoder *encoder, const uint8_t *word, size_t size, uint64_t hash)
{
    /* If merges begin with characters, words are parts already. */
    AppendPart append = encoder->vocabulary->flags & BY_CHARACTER ? merge_part : encode_parts;
    return encode_cached(encoder, word, size, hash, append);
}
