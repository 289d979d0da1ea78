/* The table of the texts of tokens: an entry for each id, which holds a short text or refers to a long one. */

#ifndef RENDERERS_TABLE_H
#define RENDERERS_TABLE_H

#define ENTRY 16           /* the bytes of an entry */
#define INLINE (ENTRY - 1) /* the longest text that an entry holds itself */

/* The first byte of an entry. A value from 1 to `INLINE + 1` is the length of its text plus 1. A long text has its
   start and its length, as uint32, at bytes 4 and 8. */
enum { MISSING = 0, MARKER = 0xFE, LONG = 0xFF };

#endif
