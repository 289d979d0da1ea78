/* Label spans with channels and sampled flags.

   `renderers.rendering.span_labels` does the same in Python. Inputs are not trusted: nothing outside of them is read,
   whatever they hold. */

#include "span.h"

#include <stdlib.h>

#define TURN "a turn must be None or a tuple of its places"

enum { REGION = 4 }; /* the places of reasoning in a turn: its text, and its markers around it */

typedef struct {
    Py_ssize_t start, end, region[REGION];
    PyObject *prompted; /* borrowed, a tuple of ranges */
    int is_turn, has_region, is_complex;
} Turn;

/* The end of a turn, and its message. */
typedef struct {
    Py_ssize_t place, message;
} TurnEnd;

/* Everything that labels depend on besides the spans. */
typedef struct {
    Turn *turns;
    Py_ssize_t count;
    Py_ssize_t *borders; /* of sampled text, in order */
    Py_ssize_t border_count, next_border;
    TurnEnd *ends; /* in order */
    Py_ssize_t end_count;
    PyObject *kinds; /* the channels scaffold, content and reasoning, then others that count as content */
    PyTypeObject *type;
    PyObject *labels; /* a list */
} Labelling;

/* Read a turn: None, or a tuple as described in `module.c`. */
static int read_turn(PyObject *value, Turn *turn)
{
    if (value == Py_None)
        return 0;
    Py_ssize_t places[3];
    if (read_numbers(value, places, 3, TURN) < 0)
        return -1;
    PyObject *prompted = PyTuple_Size(value) == 5 ? PyTuple_GetItem(value, 3) : NULL;
    if (prompted == NULL || !PyTuple_Check(prompted)) {
        PyErr_SetString(PyExc_TypeError, TURN);
        return -1;
    }
    turn->is_turn = 1;
    turn->start = places[1];
    turn->end = places[2];
    turn->prompted = prompted;
    turn->is_complex = PyTuple_Size(prompted) > 0;
    PyObject *region = PyTuple_GetItem(value, 4);
    turn->has_region = region != Py_None;
    return turn->has_region ? read_numbers(region, turn->region, REGION, TURN) : 0;
}

static int compare_places(const void *one, const void *other)
{
    Py_ssize_t left = *(const Py_ssize_t *)one, right = *(const Py_ssize_t *)other;
    return (left > right) - (left < right);
}

static int compare_ends(const void *one, const void *other)
{
    const TurnEnd *left = one, *right = other;
    int order = compare_places(&left->place, &right->place);
    return order ? order : compare_places(&left->message, &right->message);
}

/* Collect the borders of sampled text and the ends of turns. Return -1 on failure. */
static int collect_borders(Labelling *all)
{
    size_t most = 0;
    for (Py_ssize_t at = 0; at < all->count; at++)
        if (all->turns[at].is_turn)
            most += 1 + (size_t)PyTuple_Size(all->turns[at].prompted);
    all->borders = PyMem_Malloc((2 * most + 1) * sizeof(Py_ssize_t));
    all->ends = PyMem_Malloc((most + 1) * sizeof(TurnEnd));
    if (all->borders == NULL || all->ends == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < all->count; at++) {
        const Turn *turn = &all->turns[at];
        if (!turn->is_turn)
            continue;
        all->ends[all->end_count++] = (TurnEnd){turn->end, at};
        all->borders[all->border_count++] = turn->start;
        all->borders[all->border_count++] = turn->end;
        for (Py_ssize_t range = 0; range < PyTuple_Size(turn->prompted); range++) {
            if (read_numbers(PyTuple_GetItem(turn->prompted, range), &all->borders[all->border_count], 2, TURN) < 0)
                return -1;
            all->border_count += 2;
        }
    }
    qsort(all->borders, (size_t)all->border_count, sizeof(Py_ssize_t), compare_places);
    qsort(all->ends, (size_t)all->end_count, sizeof(TurnEnd), compare_ends);
    return 0;
}

/* Return a new reference to a place of a part of a span: to the object in the span if it has the same value. */
static PyObject *place_of(const Span *part, int index, Py_ssize_t place)
{
    PyObject *own = PyTuple_GetItem(part->source, index);
    return PyLong_AsSsize_t(own) == place ? Py_NewRef(own) : PyLong_FromSsize_t(place);
}

static int add_label(const Labelling *all, const Span *span, PyObject *message, PyObject *channel, int sampled,
                     int content)
{
    PyObject *label = new_tuple(all->type, 7);
    if (label != NULL)
        label = finish_leaf(label, set_item(label, 0, place_of(span, 0, span->start)) ||
                                       set_item(label, 1, place_of(span, 1, span->end)) ||
                                       set_item(label, 2, Py_NewRef(message)) ||
                                       set_item(label, 3, Py_NewRef(span->path)) ||
                                       set_item(label, 4, Py_NewRef(channel)) ||
                                       set_item(label, 5, PyBool_FromLong(sampled)) ||
                                       set_item(label, 6, PyBool_FromLong(content)));
    int failed = label == NULL || PyList_Append(all->labels, label) < 0;
    Py_XDECREF(label);
    return failed ? -1 : 0;
}

static const Turn *turn_of(const Labelling *all, Py_ssize_t message)
{
    return message >= 0 && message < all->count && all->turns[message].is_turn ? &all->turns[message] : NULL;
}

/* Return the message of the last turn that ends at a place; -1 if there is none. */
static Py_ssize_t message_ending_at(const Labelling *all, Py_ssize_t place)
{
    Py_ssize_t low = 0, high = all->end_count;
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (all->ends[middle].place <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low && all->ends[low - 1].place == place ? all->ends[low - 1].message : -1;
}

static int is_content_channel(const Labelling *all, PyObject *channel)
{
    for (Py_ssize_t at = 1; at < PyTuple_Size(all->kinds); at++)
        if (PyTuple_GetItem(all->kinds, at) == channel)
            return 1;
    return 0;
}

/* Return the channel of a part of the content of a turn with reasoning in it. Markers in it are scaffold. */
static PyObject *channel_in(const Labelling *all, const Py_ssize_t *region, const Span *part)
{
    int kind = 1;
    if (region[0] <= part->start && part->start < region[3] && part->end <= region[3])
        kind = region[1] <= part->start && part->end <= region[2] ? 2 : 0;
    return PyTuple_GetItem(all->kinds, kind);
}

/* Append the label of a part of a span. Return 1 if Python has to label the span, -1 on failure. */
static int label_part(const Labelling *all, const Span *part, PyObject *owner, PyObject *channel, const Turn *turn)
{
    PyObject *stopped = NULL;
    int sampled = turn != NULL && turn->start <= part->start && part->start < part->end && part->end <= turn->end;
    if (!sampled) {
        Py_ssize_t index = message_ending_at(all, part->end);
        const Turn *before = index == part->message ? NULL : turn_of(all, index);
        if (before != NULL && before->is_complex)
            return 1;
        if (before != NULL && before->start <= part->start && part->start < part->end) {
            /* The stop token of the previous turn, which the template writes at the start of this message. */
            stopped = PyLong_FromSsize_t(index);
            if (stopped == NULL)
                return -1;
            sampled = 1;
        }
    }
    int content = sampled || (is_content_channel(all, channel) && (turn == NULL || part->start >= turn->end));
    int failed = add_label(all, part, stopped == NULL ? owner : stopped, channel, sampled, content);
    Py_XDECREF(stopped);
    return failed;
}

/* Append the labels of a span: split at the borders in it, and at those of reasoning. As `label_part`. */
static int label_span(Labelling *all, const Span *span, PyObject *owner, PyObject *channel)
{
    const Turn *turn = turn_of(all, span->message);
    if (turn != NULL && turn->is_complex)
        return 1;
    const Py_ssize_t *region =
        turn != NULL && turn->has_region && channel == PyTuple_GetItem(all->kinds, 1) ? turn->region : NULL;
    Py_ssize_t last = all->next_border;
    while (last < all->border_count && all->borders[last] < span->end)
        last++;
    Py_ssize_t inside = last - all->next_border;
    if (!inside && region == NULL)
        return label_part(all, span, owner, channel, turn);
    Py_ssize_t *cuts = PyMem_Malloc((size_t)(inside + REGION + 1) * sizeof(Py_ssize_t));
    if (cuts == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t count = 0;
    for (Py_ssize_t at = all->next_border; at < last; at++)
        cuts[count++] = all->borders[at];
    for (int at = 0; region != NULL && at < REGION; at++)
        if (span->start < region[at] && region[at] < span->end)
            cuts[count++] = region[at];
    qsort(cuts, (size_t)count, sizeof(Py_ssize_t), compare_places);
    cuts[count] = span->end;
    int done = 0;
    Span part = *span;
    Py_ssize_t before = PyList_Size(all->labels);
    for (Py_ssize_t at = 0; done == 0 && at <= count; at++) {
        if (at < count && cuts[at] == part.start)
            continue;
        part.end = cuts[at];
        done = label_part(all, &part, owner, region == NULL ? channel : channel_in(all, region, &part), turn);
        part.start = part.end;
    }
    PyMem_Free(cuts);
    if (done > 0 && PyList_SetSlice(all->labels, before, PyList_Size(all->labels), NULL) < 0)
        return -1;
    return done;
}

/* Label all spans. Those that Python has to label are passed to `otherwise`, which returns a list of labels. */
static int label_all(Labelling *all, PyObject *spans, PyObject *channels, PyObject *media, PyObject *otherwise)
{
    for (Py_ssize_t at = 0; at < PyTuple_Size(spans); at++) {
        Span span;
        if (read_span(spans, at, &span) < 0)
            return -1;
        PyObject *tuple = PyTuple_GetItem(spans, at), *owner = PyTuple_GetItem(tuple, 2);
        if (at >= PyList_Size(channels)) {
            PyErr_SetString(PyExc_ValueError, "each span needs a channel");
            return -1;
        }
        /* A label is a container. Up to Python 3.11, its allocation can run finalizers, which can change the list. */
        PyObject *channel = Py_NewRef(PyList_GetItem(channels, at));
        while (all->next_border < all->border_count && all->borders[all->next_border] <= span.start)
            all->next_border++;
        int done = PyTuple_Size(span.path) || !PyDict_Size(media) ? 0 : PyDict_Contains(media, owner);
        if (done == 0)
            done = label_span(all, &span, owner, channel);
        if (done > 0) {
            PyObject *labels = PyObject_CallFunctionObjArgs(otherwise, tuple, channel, NULL);
            Py_ssize_t end = PyList_Size(all->labels);
            done = labels == NULL ? -1 : PyList_SetSlice(all->labels, end, end, labels);
            Py_XDECREF(labels);
        }
        Py_DECREF(channel);
        if (done < 0)
            return -1;
    }
    return 0;
}

PyObject *native_label_spans(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *spans, *channels, *turns, *media, *kinds, *type, *otherwise;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O:label_spans", &PyTuple_Type, &spans, &PyList_Type, &channels,
                          &PyList_Type, &turns, &PyDict_Type, &media, &PyTuple_Type, &kinds, &PyType_Type, &type,
                          &otherwise))
        return NULL;
    if (PyTuple_Size(kinds) < 3 || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "label_spans takes three channels and a class of tuples");
        return NULL;
    }
    /* A finalizer could change the list, and prompted ranges are read from it. */
    PyObject *own_turns = copy_of_list(turns), *labels = PyList_New(0);
    Py_ssize_t count = own_turns == NULL ? 0 : PyList_Size(own_turns);
    Labelling all = {
        .turns = calloc((size_t)count + 1, sizeof(Turn)),
        .count = count,
        .kinds = kinds,
        .type = (PyTypeObject *)type,
        .labels = labels,
    };
    int failed = all.turns == NULL || own_turns == NULL || labels == NULL;
    if (all.turns == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t at = 0; !failed && at < count; at++)
        failed = read_turn(PyList_GetItem(own_turns, at), &all.turns[at]) < 0;
    failed = failed || collect_borders(&all) < 0 || label_all(&all, spans, channels, media, otherwise) < 0;
    PyObject *result = failed ? NULL : PyList_AsTuple(labels);
    free(all.turns);
    PyMem_Free(all.borders);
    PyMem_Free(all.ends);
    Py_XDECREF(own_turns);
    Py_XDECREF(labels);
    return result;
}
