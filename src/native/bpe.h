/* A compiled vocabulary, and the functions that encode with it.

   The block is not trusted: every place that is read from it is compared with the size of its section before it is
   used. */

#ifndef RENDERERS_BPE_H
#define RENDERERS_BPE_H

#include "native.h"
#include "block.h"

#include <stdlib.h>
#include <string.h>

#define PENDING 32
#define LONGEST_CACHED 31 /* the bytes of the longest word in the cache of words of several tokens */

typedef struct {
    uint32_t flags, longest, width, torn;
    const uint32_t *starts;
    size_t tokens;
    const uint8_t *bytes;
    size_t bytes_size;
    const Slot *words;
    size_t word_mask;
    const uint64_t *pairs;
    size_t pair_mask;
    const uint32_t *results;
    size_t merges;
    const uint32_t *byte_ids;
    const uint32_t *byte_ranks; /* NULL if merges begin with characters */
    const uint8_t *joins;
    uint64_t join_mask;
    const uint16_t *index;
    const uint8_t *pages;
    size_t pages_size;
    const uint8_t *class_flags;
    const uint8_t *orders;
    size_t classes;
    const uint32_t *stages;
    size_t stage_count;
    const uint32_t *transitions;
    size_t transition_count;
    const uint32_t *scans;
    size_t scan_count;
    const uint8_t *ascii; /* the classes of the first 256 code points */
} Vocabulary;

/* What identifies bytes in the table of words. */
typedef struct {
    uint64_t low, hash;
    uint32_t high, length;
} Key;

/* A word that is not encoded yet. */
typedef struct {
    const uint8_t *start;
    size_t size;
    Key key;
    uint32_t meta; /* that of its slot, 0 if it is no token */
} Pending;

/* A word of up to twelve tokens, by its bytes. */
typedef struct {
    uint64_t key[4]; /* up to 31 bytes, padded with zeros, and their number */
    uint64_t ids[4]; /* three ids each, from the lowest bit on. The highest bits are those of the number of ids */
} CachedWord;

/* The two words of a hash that were added last, the later one first. */
typedef struct {
    CachedWord words[2];
} CacheSet;

/* Why the encoding of a text failed. */
typedef enum { NO_FAILURE, NO_MEMORY, DAMAGED } Failure;

typedef struct {
    const Vocabulary *vocabulary;
    const uint8_t *limit; /* the end of the text that is encoded */
    Failure failure;
    uint32_t *ids;
    size_t count, capacity;
    CacheSet *cache; /* NULL if there is none */
    size_t cache_mask;
    uint64_t *cache_lock; /* not 0 while an encoder uses the cache; NULL if there is no cache */
    size_t unreleased;    /* the bytes that were encoded since the global lock was last released */
    /* Words are looked up a few at a time, so that the processor fetches their slots at once. */
    Pending pending[PENDING];
    size_t pending_count;
    /* Memory for the merges of long words. */
    void *scratch;
    size_t scratch_size;
} Encoder;

/* A function that appends the ids of a part of a text. Returns -1 if it failed. */
typedef int (*AppendPart)(Encoder *encoder, const uint8_t *part, size_t size);

/* Return -1 with an exception if the header or the size of a section is wrong. */
int open_vocabulary(const Py_buffer *buffer, Vocabulary *vocabulary);
/* Find the start and the size of a section of a block. Return -1 with an exception if it is not within the block. */
int read_section(const Py_buffer *buffer, int number, uint64_t *start, uint64_t *size);

/* Use as much of a buffer as a power of two of sets needs, unless another encoder uses it. */
void set_cache(Encoder *encoder, const Py_buffer *cache);
void free_encoder(Encoder *encoder);

/* The functions that encode also run without the global lock, so they raise no exceptions. */

/* Append the ids of UTF-8, which must not change. Release the global lock for a part of a long text. Return 1 if it is
   left out because of its characters, -1 if it failed. */
int encode_bytes(Encoder *encoder, const uint8_t *bytes, size_t size, int normalized);
/* Raise the exception of a failure. */
void raise_failure(const Encoder *encoder);
/* Append the ids of a text. Return -1 without memory, or if the block is damaged. */
int encode_text(Encoder *encoder, const uint8_t *text, size_t size);
/* Append the ids of a word that is not a token itself, with the hash of its key. */
int encode_word(Encoder *encoder, const uint8_t *word, size_t size, uint64_t hash);
/* Cut a text between characters that no token contains next to each other, and append the ids of each part. */
int cut(Encoder *encoder, const uint8_t *text, size_t size, AppendPart append);
/* Append the ids that merges give for the bytes of a part of a word. */
int merge_part(Encoder *encoder, const uint8_t *part, size_t size);
int grow_ids(Encoder *encoder, size_t more);
int fail(Encoder *encoder, Failure failure);
int fail_damaged(void);

static inline uint64_t mix(uint64_t value)
{
    value *= 0x9E3779B97F4A7C15u;
    return value ^ (value >> 32);
}

static inline uint64_t hash_short(uint64_t low, uint32_t high, size_t size)
{
    return mix(low ^ mix(((uint64_t)high << 8) | size));
}

static inline uint64_t hash_long(const uint8_t *bytes, size_t size)
{
    uint64_t hash = mix(size);
    size_t at = 0;
    for (; at + 8 <= size; at += 8) {
        uint64_t part;
        memcpy(&part, bytes + at, 8);
        hash = mix(hash ^ part);
    }
    uint64_t rest = 0;
    memcpy(&rest, bytes + at, size - at);
    return mix(hash ^ rest);
}

/* Read 1 to 12 bytes as two numbers. Bytes before `limit` can be read. */
static inline void load_short(const uint8_t *bytes, size_t size, const uint8_t *limit, uint64_t *low, uint32_t *high)
{
    uint64_t first = 0, second = 0;
    if (limit - bytes >= 16) {
        memcpy(&first, bytes, 8);
        memcpy(&second, bytes + 8, 8);
        /* Shifts instead of branches, which depend on the length of each word. */
        size_t extra = size > 8 ? size - 8 : 0;
        first &= UINT64_MAX >> (64 - 8 * (size - extra));
        second &= ((uint64_t)1 << (8 * extra)) - 1;
    } else if (size <= 8)
        memcpy(&first, bytes, size);
    else {
        memcpy(&first, bytes, 8);
        memcpy(&second, bytes + 8, size - 8);
    }
    *low = first;
    *high = (uint32_t)second;
}

static inline int same_text(const Vocabulary *vocabulary, uint32_t id, const uint8_t *bytes, size_t size)
{
    if (id >= vocabulary->tokens)
        return 0;
    uint32_t start = vocabulary->starts[2 * (size_t)id], length = vocabulary->starts[2 * (size_t)id + 1];
    return length == size && (uint64_t)start + length <= vocabulary->bytes_size &&
           memcmp(vocabulary->bytes + start, bytes, size) == 0;
}

/* Return the key of bytes in the table of words. */
static inline Key key_of(const uint8_t *bytes, size_t size, const uint8_t *limit)
{
    Key key;
    if (size <= SHORT) {
        load_short(bytes, size, limit, &key.low, &key.high);
        key.length = (uint32_t)size;
        key.hash = hash_short(key.low, key.high, size);
    } else {
        key.low = key.hash = hash_long(bytes, size);
        key.high = (uint32_t)size;
        key.length = LONG_WORD;
    }
    return key;
}

/* Return the `meta` of the slot with a key, 0 if the bytes are not a token of the model. */
static inline uint32_t find_key(const Vocabulary *vocabulary, const Key *key, const uint8_t *bytes)
{
    for (size_t tries = 0; tries <= vocabulary->word_mask; tries++) {
        const Slot *slot = &vocabulary->words[(key->hash + tries) & vocabulary->word_mask];
        if (slot->low == key->low && slot->high == key->high && (slot->meta & 15) == key->length &&
            (key->length < LONG_WORD || same_text(vocabulary, slot->meta >> ID_SHIFT, bytes, key->high)))
            return slot->meta;
        if (slot->meta == 0)
            break;
    }
    return 0;
}

static inline uint32_t find_word(const Vocabulary *vocabulary, const uint8_t *bytes, size_t size, const uint8_t *limit)
{
    if (size > vocabulary->longest)
        return 0;
    Key key = key_of(bytes, size, limit);
    return find_key(vocabulary, &key, bytes);
}

/* Return the rank of the merge of two tokens, `NONE` if there is none. */
static inline uint32_t find_rank(const Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    uint64_t key = (uint64_t)left << PAIR_BITS | right;
    size_t at = (size_t)mix(key);
    for (size_t tries = 0; tries <= vocabulary->pair_mask; tries++) {
        uint64_t entry = vocabulary->pairs[(at + tries) & vocabulary->pair_mask];
        if (entry >> RANK_BITS == key)
            return (uint32_t)(entry & ((1u << RANK_BITS) - 1));
        if (entry == EMPTY_PAIR)
            break;
    }
    return NONE;
}

/* Begin to load the rank of the merge of two tokens. */
static inline void prefetch_rank(const Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    PREFETCH(&vocabulary->pairs[(size_t)mix((uint64_t)left << PAIR_BITS | right) & vocabulary->pair_mask]);
}

static inline uint64_t join_bit(const Vocabulary *vocabulary, uint32_t left, uint32_t right)
{
    /* The bits of ASCII are near each other, because most texts need them all the time. */
    uint64_t place = (left | right) < 0x80 ? left << 7 | right : mix((uint64_t)left << 32 | right);
    return place & vocabulary->join_mask;
}

/* Return the number of bytes of a character by its first byte. */
static inline size_t character_size(uint8_t first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

/* Return 1 if eight bytes are ASCII. */
static inline int are_ascii(const uint8_t *eight)
{
    uint64_t bytes;
    memcpy(&bytes, eight, 8);
    return (bytes & 0x8080808080808080u) == 0;
}

/* Return 1 if a byte is not the first one of a character. */
static inline int is_inner(uint8_t byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Return the number of characters that begin in eight bytes. */
static inline size_t begun_in_eight(const uint8_t *eight)
{
    uint64_t bytes;
    memcpy(&bytes, eight, 8);
    uint64_t inner = bytes & ~(bytes << 1) & 0x8080808080808080u;
    return 8 - (size_t)((inner >> 7) * 0x0101010101010101u >> 56);
}

/* Return a character of text that is valid UTF-8. */
static inline uint32_t read_character(const uint8_t *at, size_t size)
{
    switch (size) {
    case 1:
        return at[0];
    case 2:
        return (at[0] & 0x1Fu) << 6 | (at[1] & 0x3Fu);
    case 3:
        return (at[0] & 0x0Fu) << 12 | (at[1] & 0x3Fu) << 6 | (at[2] & 0x3Fu);
    default:
        return (at[0] & 0x07u) << 18 | (at[1] & 0x3Fu) << 12 | (at[2] & 0x3Fu) << 6 | (at[3] & 0x3Fu);
    }
}

/* Return the class of a character. That of damaged pages is 0, which is unknown. */
static inline uint32_t class_of(const Vocabulary *vocabulary, uint32_t character)
{
    size_t place = (size_t)vocabulary->index[character >> 8] << 8 | (character & 0xFF);
    return place < vocabulary->pages_size ? vocabulary->pages[place] : 0;
}

static inline int append_id(Encoder *encoder, uint32_t id)
{
    if (encoder->count == encoder->capacity && grow_ids(encoder, 1) < 0)
        return -1;
    encoder->ids[encoder->count++] = id;
    return 0;
}

#endif
