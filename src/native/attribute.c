/* Map the labels of a text to its tokens: labels that were made before, or those of the spans of a trace.

   `renderers.tokenizer.encoding.encode` and `renderers.rendering.label` do the same in Python. Inputs are not trusted:
   nothing outside of them is read, whatever they hold. */

#include "locate.h"
#include "span.h"

#include <stdlib.h>

/* The label of a text without its place. References are borrowed. */
typedef struct {
    Py_ssize_t message;
    PyObject *channel;
    int sampled, content;
} Kind;

/* The labels of a text of some length. Adjacent ones differ. */
typedef struct {
    Kind *kinds;
    Py_ssize_t *places; /* the end of each */
    Py_ssize_t count, room, length;
    PyTypeObject *run;
} LabelRuns;

static int is_alike(const Kind *one, const Kind *other)
{
    return one->message == other->message && one->channel == other->channel && one->sampled == other->sampled &&
           one->content == other->content;
}

static int make_room(LabelRuns *labels)
{
    if (labels->count < labels->room)
        return 0;
    size_t room = 2 * (size_t)labels->room + 64;
    Kind *kinds = PyMem_Realloc(labels->kinds, room * sizeof(Kind));
    labels->kinds = kinds == NULL ? labels->kinds : kinds;
    Py_ssize_t *places = PyMem_Realloc(labels->places, room * sizeof(Py_ssize_t));
    labels->places = places == NULL ? labels->places : places;
    if (kinds == NULL || places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    labels->room = (Py_ssize_t)room;
    return 0;
}

/* Add a label. Adjacent ones that are alike become one. Return -1 with an error if it is not in order. */
static int add_kind(LabelRuns *labels, Py_ssize_t start, Py_ssize_t end, Kind kind)
{
    Py_ssize_t count = labels->count;
    if (start < 0 || end < (count ? labels->places[count - 1] : 0) || end > labels->length) {
        PyErr_SetString(PyExc_ValueError, "labels must be in order and within the text");
        return -1;
    }
    if (count && is_alike(&labels->kinds[count - 1], &kind))
        labels->places[count - 1] = end;
    else if (start < end) {
        if (make_room(labels) < 0)
            return -1;
        labels->kinds[count] = kind;
        labels->places[count] = end;
        labels->count++;
    }
    return 0;
}

static void free_labels(LabelRuns *labels)
{
    PyMem_Free(labels->kinds);
    PyMem_Free(labels->places);
}

/* ==================
   Runs of tokens
   ================== */

static PyObject *run_of(const LabelRuns *labels, Py_ssize_t end, const Kind *kind)
{
    PyObject *run = new_tuple(labels->run, 5);
    if (run != NULL)
        run = finish_leaf(run, set_item(run, 0, PyLong_FromSsize_t(end)) ||
                                   set_item(run, 1, PyLong_FromSsize_t(kind->message)) ||
                                   set_item(run, 2, Py_NewRef(kind->channel)) ||
                                   set_item(run, 3, PyBool_FromLong(kind->sampled)) ||
                                   set_item(run, 4, PyBool_FromLong(kind->content)));
    return run;
}

/* Return the runs of tokens with equal labels. */
static PyObject *runs_of(const LabelRuns *labels, const Py_ssize_t *stops, Py_ssize_t count)
{
    PyObject *runs = PyList_New(0);
    Py_ssize_t before = 0, last = -1;
    for (Py_ssize_t at = 0; runs != NULL && at < count; at++) {
        if (stops[at] <= before)
            continue;
        PyObject *run = run_of(labels, stops[at], &labels->kinds[at]);
        int failed = run == NULL;
        if (!failed && last >= 0 && is_alike(&labels->kinds[last], &labels->kinds[at]))
            /* There was a label without a token between two equal ones. */
            failed = PyList_SetItem(runs, PyList_Size(runs) - 1, Py_NewRef(run));
        else if (!failed)
            failed = PyList_Append(runs, run);
        Py_XDECREF(run);
        if (failed)
            Py_CLEAR(runs);
        before = stops[at];
        last = at;
    }
    PyObject *result = runs ? PyList_AsTuple(runs) : NULL;
    Py_XDECREF(runs);
    return result;
}

/* Return the tokens across a border of sampled text. */
static PyObject *straddling(const LabelRuns *labels, const Py_ssize_t *firsts, const Py_ssize_t *stops, Py_ssize_t count)
{
    PyObject *found = PyList_New(0);
    Py_ssize_t next = 0;
    for (Py_ssize_t at = 0; found != NULL && at + 1 < count; at++) {
        if (firsts[at] == stops[at] || labels->kinds[at].sampled == labels->kinds[at + 1].sampled)
            continue;
        for (Py_ssize_t token = firsts[at] > next ? firsts[at] : next; found != NULL && token < stops[at]; token++) {
            PyObject *number = PyLong_FromSsize_t(token);
            if (number == NULL || PyList_Append(found, number))
                Py_CLEAR(found);
            Py_XDECREF(number);
            next = token + 1;
        }
    }
    PyObject *result = found ? PyList_AsTuple(found) : NULL;
    Py_XDECREF(found);
    return result;
}

/* Move the end of text before sampled text to the first token that is partly sampled. */
static void claim_sampled(const LabelRuns *labels, const Py_ssize_t *firsts, Py_ssize_t *stops, Py_ssize_t count)
{
    Py_ssize_t claimed = PY_SSIZE_T_MAX;
    for (Py_ssize_t at = count - 2; at >= 0; at--) {
        if (labels->kinds[at].sampled)
            claimed = PY_SSIZE_T_MAX;
        else if (labels->kinds[at + 1].sampled)
            claimed = firsts[at];
        if (stops[at] > claimed)
            stops[at] = claimed;
    }
}

static PyObject *attributed(void *context, const Py_ssize_t *firsts, Py_ssize_t *stops, Py_ssize_t count)
{
    PyObject *across = straddling(context, firsts, stops, count);
    claim_sampled(context, firsts, stops, count);
    return pair_of(runs_of(context, stops, count), across);
}

/* Begin the labels of a text with a class of runs. Return -1 with an error if it is not a class of tuples. */
static int begin(LabelRuns *labels, PyObject *text, PyObject *run)
{
    labels->length = PyUnicode_GetLength(text);
    labels->run = (PyTypeObject *)run;
    if (PyType_IsSubtype(labels->run, &PyTuple_Type))
        return 0;
    PyErr_SetString(PyExc_TypeError, "runs must be tuples");
    return -1;
}

/* ==================
   Labels that were made before
   ================== */

/* Tuples of a start, an end, a message, a path, a channel, and the flags sampled and content. */
enum { START, END, MESSAGE, PATH, CHANNEL, SAMPLED, CONTENT, FIELDS };

/* Add a label that is a tuple. Return -1 on failure. */
static int add_tuple(LabelRuns *labels, PyObject *label)
{
    Py_ssize_t numbers[3];
    if (read_numbers(label, numbers, 3, "a label must begin with three numbers") < 0)
        return -1;
    if (PyTuple_Size(label) != FIELDS) {
        PyErr_SetString(PyExc_TypeError, "a label must be a tuple of seven");
        return -1;
    }
    Kind kind = {numbers[MESSAGE], PyTuple_GetItem(label, CHANNEL), PyTuple_GetItem(label, SAMPLED) == Py_True,
                 PyTuple_GetItem(label, CONTENT) == Py_True};
    return add_kind(labels, numbers[START], numbers[END], kind);
}

PyObject *native_attribute(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text, *tuple, *run, *result = NULL;
    Encoded encoded = {0};
    if (!PyArg_ParseTuple(args, "Uy*y*y*y*Uy*O!O!:attribute", &text, &encoded.ids, &encoded.sizes,
                          &encoded.border_places, &encoded.end_places, &encoded.normalized, &encoded.moves,
                          &PyTuple_Type, &tuple, &PyType_Type, &run))
        return NULL;
    LabelRuns labels = {0};
    int failed = begin(&labels, text, run) < 0;
    for (Py_ssize_t at = 0; !failed && at < PyTuple_Size(tuple); at++)
        failed = add_tuple(&labels, PyTuple_GetItem(tuple, at)) < 0;
    if (!failed)
        result = located(&encoded, text, labels.places, labels.count, attributed, &labels);
    free_labels(&labels);
    release_encoded(&encoded);
    return result;
}

/* ==================
   Labels of spans
   ================== */

static int add_part(void *target, const Span *part, Py_ssize_t message, PyObject *channel, int sampled, int content)
{
    return add_kind(target, part->start, part->end, (Kind){message, channel, sampled, content});
}

/* Find the turns of all messages with headers that have spans. */
static Outcome find_turns(const TurnRules *rules, const Message *messages, PyObject *headers, Turn *turns)
{
    Outcome outcome = FOUND;
    for (Py_ssize_t at = 0; outcome == FOUND && at < PyList_Size(headers); at++) {
        PyObject *own = PyList_GetItem(headers, at);
        if (own != Py_None && messages[at].is_known)
            outcome = find_turn(rules, messages[at].facts, own, &turns[at]);
    }
    return outcome;
}

/* Label all spans. Fill in their channels, which the labels refer to. UNDECIDED if Python has to find a turn. */
static Outcome label_spans(LabelRuns *labels, const TurnRules *rules, const ChannelRules *channel_rules,
                           PyObject **channels, PyObject *headers)
{
    Message *messages = index_messages(&rules->spans, channel_rules, channels);
    Labelling all = {
        .turns = calloc((size_t)PyList_Size(headers) + 1, sizeof(Turn)),
        .count = PyList_Size(headers),
        .kinds = channel_rules->kinds,
        .add = add_part,
        .target = labels,
    };
    if (all.turns == NULL)
        PyErr_NoMemory();
    Outcome outcome = messages == NULL || all.turns == NULL ? FAILED : find_turns(rules, messages, headers, all.turns);
    if (outcome == FOUND && begin_labels(&all) < 0)
        outcome = FAILED;
    for (Py_ssize_t at = 0; outcome == FOUND && at < rules->spans.count; at++)
        outcome = label_span(&all, &rules->spans.items[at], channels[at]) < 0 ? FAILED : FOUND;
    end_labels(&all);
    free(all.turns);
    free(messages);
    return outcome;
}

PyObject *native_attribute_spans(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text, *spans, *results, *channel_of, *kinds, *role, *headers, *marks, *settings, *run, *result = NULL;
    Encoded encoded = {0};
    if (!PyArg_ParseTuple(args, "Uy*y*y*y*Uy*O!O!OO!UO!O!O!O!:attribute_spans", &text, &encoded.ids, &encoded.sizes,
                          &encoded.border_places, &encoded.end_places, &encoded.normalized, &encoded.moves,
                          &PyTuple_Type, &spans, &PyList_Type, &results, &channel_of, &PyTuple_Type, &kinds, &role,
                          &PyList_Type, &headers, &PyList_Type, &marks, &PyTuple_Type, &settings, &PyType_Type, &run))
        return NULL;
    LabelRuns labels = {0};
    TurnRules rules = {.text = text, .length = PyUnicode_GetLength(text)};
    /* Python code could change the lists: a caller's function, or a finalizer. */
    PyObject *own_results = copy_of_list(results), *own_headers = copy_of_list(headers), **channels = NULL;
    rules.marks = copy_of_list(marks);
    int failed = own_results == NULL || own_headers == NULL || rules.marks == NULL || begin(&labels, text, run) < 0 ||
                 read_turn_rules(settings, &rules) < 0 || read_spans(spans, &rules.spans) < 0 ||
                 (channels = new_channels(&rules.spans)) == NULL;
    if (!failed && (PyTuple_Size(kinds) < 3 || PyList_Size(own_headers) != PyList_Size(own_results))) {
        PyErr_SetString(PyExc_ValueError, "attribute_spans takes three channels, and headers for each message");
        failed = 1;
    }
    if (!failed) {
        ChannelRules channel_rules = {own_results, channel_of, kinds, role};
        Outcome outcome = label_spans(&labels, &rules, &channel_rules, channels, own_headers);
        if (outcome == FOUND)
            result = located(&encoded, text, labels.places, labels.count, attributed, &labels);
        else if (outcome == UNDECIDED)
            result = Py_NewRef(Py_None);
    }
    free_channels(&rules.spans, channels);
    free_labels(&labels);
    PyMem_Free(rules.spans.items);
    release_encoded(&encoded);
    Py_XDECREF(own_results);
    Py_XDECREF(own_headers);
    Py_XDECREF(rules.marks);
    return result;
}
