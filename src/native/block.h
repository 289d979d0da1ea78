/* The format of a compiled vocabulary, as in `renderers.tokenizer.compiled.block`. Numbers are little-endian. */

#ifndef RENDERERS_BLOCK_H
#define RENDERERS_BLOCK_H

#include <stdint.h>

#define FORMAT 7
#define HEADER 16
#define NONE UINT32_MAX
#define ACCEPT 0x80000000u
#define SHORT 12          /* the longest token whose bytes are in its slot */
#define LONG_WORD 13      /* the length in the slot of any other token */
#define PRODUCED 16       /* in a slot: merges produce the token from its bytes */
#define ID_SHIFT 5
#define PAIR_BITS 21      /* the bits of each id in a slot of a pair */
#define RANK_BITS 22
#define EMPTY_PAIR UINT64_MAX
#define MOST_STAGES 8
#define STAGE 3           /* the numbers of a stage */
#define SCAN_HEADER 129   /* the numbers of a scan table before its entries */
#define NEXT_ROW 0x3FFFFFFu /* the place of the next row in an entry of a scan table. The other bits are flags: */
#define ENDS_EARLIER 26     /* the number of the bit */
#define ENDS_BEFORE 27
#define ENDS_HERE 28
#define MATCHES 29
#define STOPS 30
#define ENDS 31
#define PARTIAL 0x200000u /* added to a byte that stands for the part of a character, in the key of a join */

enum { UNKNOWN_CLASS = 1, CHANGES = 2, FIRST = 4, SECOND = 8, MARK = 16 }; /* flags of classes of characters */
enum { DROPS_GAPS = 1 };                                                   /* flags of stages */
enum { IGNORES_MERGES = 1, WRITES_SPACES = 2, BY_CHARACTER = 4 };          /* flags of the model */
enum { TORN_RIGHT = 1, TORN_LEFT = 2, TORN_BOTH = 4 };                     /* kinds of tokens that end within a character */

/* The sections, in order. */
enum {
    META,        /* JSON */
    SETTINGS,    /* uint32: flags of the model, bytes of the longest token, columns of a row, kinds of torn tokens */
    STARTS,      /* for each id the start of its text and its size, `NONE` if there is no such token */
    BYTES,       /* the texts of all tokens */
    WORDS,       /* a hash table of `Slot`, for the tokens of the model */
    PAIRS,       /* a hash table of uint64: left id, right id, rank */
    RESULTS,     /* the id that a merge gives, by rank */
    BYTE_IDS,    /* the id of each byte */
    BYTE_RANKS,  /* the rank of the merge of each two bytes, `NONE` if there is none */
    JOINS,       /* bits: a token contains these two characters next to each other */
    INDEX,       /* the number of the page of each 256 code points, uint16 */
    PAGES,       /* the class of each character of each page */
    CLASS_FLAGS, /* the flags of each class */
    ORDERS,      /* the canonical combining class of the characters of each class */
    STAGES,      /* for each stage of the split, the row of its first state, its flags, and the place of its scan table */
    TRANSITIONS, /* the rows of all states: the row of the next one, 0 if none, plus `ACCEPT` */
    SCANS,       /* scan tables: the number of entries, the place of the column of each byte as uint16, entries */
    SECTION_COUNT
};

/* A token of up to 12 bytes, padded with zeros, or the hash and the length of a longer one. 0 in `meta` is an empty
   slot, else it has the length or `LONG_WORD`, `PRODUCED`, and the id. */
typedef struct {
    uint64_t low;
    uint32_t high;
    uint32_t meta;
} Slot;

#endif
