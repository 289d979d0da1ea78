/* The spans of a trace, and what is found in them step by step: the places of messages, their turns, and labels. */

#ifndef RENDERERS_SPAN_H
#define RENDERERS_SPAN_H

#include "native.h"

typedef struct {
    Py_ssize_t start, end, message;
    PyObject *path;   /* borrowed, a tuple */
    PyObject *source; /* borrowed, the tuple that it was read from */
} Span;

typedef struct {
    Span *items;
    Py_ssize_t count;
} Spans;

/* Read a tuple of spans. Return -1 with an error if it is not one. Free the items with `PyMem_Free`. */
int read_spans(PyObject *tuple, Spans *spans);

/* Read the first numbers of a tuple. Return -1, with an error that says `expected`, if it is not a tuple with them. */
int read_numbers(PyObject *tuple, Py_ssize_t *numbers, Py_ssize_t count, const char *expected);

/* ==================
   The places of messages
   ================== */

/* The fields of `MessageSpans`. */
enum { OWN_START, OWN_END, NEXT_SPAN, PREVIOUS_BODY, FIRST_BODY, LAST_BODY, ROLE_END, CONTENT_START, FACTS };

typedef struct {
    Py_ssize_t facts[FACTS];
    int is_known, is_open; /* whether it has spans, and whether later ones still count */
} Message;

/* How the channel of a span is found. References are borrowed. */
typedef struct {
    PyObject *results;    /* a list with a flag for each message, which nothing else can change */
    PyObject *channel_of; /* a function of a path and a flag */
    PyObject *kinds;      /* the channels scaffold and content, then others */
    PyObject *role;       /* the name of the field with the role */
} ChannelRules;

/* Fill in references to the channels of spans, and return the places of messages, to be freed with `free`. NULL on
   failure, with the channels that were found so far. */
Message *index_messages(const Spans *spans, const ChannelRules *rules, PyObject **channels);

/* Return room for the channels of spans, NULL with an error if there is none. Free it with `free_channels`. */
PyObject **new_channels(const Spans *spans);

void free_channels(const Spans *spans, PyObject **channels);

/* ==================
   Turns
   ================== */

enum { REGION = 4 }; /* the places of reasoning in a turn: its text, and its markers around it */

typedef struct {
    Py_ssize_t first, start, end, region[REGION];
    PyObject *prompted; /* borrowed, a tuple of ranges; NULL for none */
    int is_turn, has_region;
} Turn;

/* The text of all turns, and the rules for them. References are borrowed. */
typedef struct {
    PyObject *text;
    Py_ssize_t length;
    Spans spans;
    PyObject *marks;       /* a list: the special tokens in the text, in order */
    PyObject *special;     /* a set: the texts of those that can end a turn */
    PyObject *stop_tokens; /* a set */
    PyObject *end_token, *opening, *closing; /* texts, NULL if there are none */
} TurnRules;

/* The outcome of a search: it found its result, Python has to find it, or it failed. */
typedef enum { FAILED = -1, UNDECIDED, FOUND } Outcome;

/* Read the rules from a tuple, as described in `module.c`. Return -1 with an error if it is not one. */
int read_turn_rules(PyObject *settings, TurnRules *rules);

/* Find the turn of a message with some places and headers. */
Outcome find_turn(const TurnRules *rules, const Py_ssize_t *facts, PyObject *headers, Turn *turn);

/* ==================
   Labels
   ================== */

/* A function that adds the label of a part of a span. Return -1 on failure. */
typedef int (*AddLabel)(void *target, const Span *part, Py_ssize_t message, PyObject *channel, int sampled, int content);

/* The end of a turn, and its message. */
typedef struct {
    Py_ssize_t place, message;
} TurnEnd;

/* Everything that labels depend on besides the spans. */
typedef struct {
    Turn *turns; /* for each message */
    Py_ssize_t count;
    PyObject *kinds; /* borrowed: the channels scaffold, content and reasoning, then others that count as content */
    AddLabel add;
    void *target;
    Py_ssize_t *borders; /* of sampled text, in order */
    Py_ssize_t border_count, next_border;
    TurnEnd *ends; /* in order */
    Py_ssize_t end_count;
} Labelling;

/* Collect the borders of sampled text and the ends of turns. Return -1 on failure. */
int begin_labels(Labelling *all);

/* Add the labels of the next span. Return 1 if Python has to label it, -1 on failure. */
int label_span(Labelling *all, const Span *span, PyObject *channel);

void end_labels(Labelling *all);

#endif
