/* Find the spans of each message, and label spans with channels and sampled flags.

   `renderers.rendering.span_labels` does the same in Python. Inputs are not trusted: nothing outside of them is read,
   whatever they hold. */

#include "native.h"

#include <stdlib.h>

/* A span of a trace. */
typedef struct {
    Py_ssize_t start, end, message;
    PyObject *path; /* borrowed, a tuple */
} Span;

static int read_span(PyObject *spans, Py_ssize_t at, Span *span)
{
    PyObject *tuple = PyTuple_GetItem(spans, at);
    int is_span = PyTuple_Check(tuple) && PyTuple_Size(tuple) == 4;
    Py_ssize_t *numbers[] = {&span->start, &span->end, &span->message};
    for (int index = 0; is_span && index < 3; index++) {
        PyObject *number = PyTuple_GetItem(tuple, index);
        is_span = PyLong_CheckExact(number);
        *numbers[index] = is_span ? PyLong_AsSsize_t(number) : 0;
        is_span = is_span && !PyErr_Occurred();
    }
    span->path = is_span ? PyTuple_GetItem(tuple, 3) : NULL;
    if (is_span && PyTuple_Check(span->path) && span->start >= 0 && span->start <= span->end)
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_TypeError, "a span must be a tuple of a start, an end, a message and a path");
    return -1;
}

/* ==================
   The spans of messages
   ================== */

/* The fields of `MessageSpans`, and whether later spans of the message still count. */
enum { OWN_START, OWN_END, NEXT_SPAN, PREVIOUS_BODY, FIRST_BODY, LAST_BODY, ROLE_END, CONTENT_START, FACTS };

typedef struct {
    Py_ssize_t facts[FACTS];
    int is_known, is_open;
} Message;

/* The messages with spans that still count, the lowest last. */
typedef struct {
    Message *messages;
    Py_ssize_t *open;
    Py_ssize_t count;
} Messages;

static void close_before(Messages *all, Py_ssize_t message)
{
    while (all->count && all->open[all->count - 1] < message)
        all->messages[all->open[--all->count]].is_open = 0;
}

static void begin(Messages *all, const Span *span, Py_ssize_t body)
{
    Message *message = &all->messages[span->message];
    message->is_known = message->is_open = 1;
    for (int fact = 0; fact < FACTS; fact++)
        message->facts[fact] = -1;
    message->facts[OWN_START] = span->start;
    message->facts[PREVIOUS_BODY] = body;
    message->facts[ROLE_END] = 0;
    all->open[all->count++] = span->message;
}

static void add_own(Message *message, const Span *span, Py_ssize_t at, int is_body, int is_role)
{
    Py_ssize_t *facts = message->facts;
    facts[OWN_END] = span->end;
    facts[NEXT_SPAN] = at + 1;
    if (is_body) {
        facts[LAST_BODY] = span->end;
        if (facts[FIRST_BODY] < 0 && span->start < span->end)
            facts[FIRST_BODY] = span->start;
    } else if (facts[FIRST_BODY] < 0 && is_role)
        facts[ROLE_END] = span->end;
}

/* Return 1 if a path is that of a role, 0 if not, -1 on failure. */
static int is_role_path(PyObject *path, PyObject *role)
{
    return PyTuple_Size(path) == 1 ? PyObject_RichCompareBool(PyTuple_GetItem(path, 0), role, Py_EQ) : 0;
}

/* Read all spans. Append their channels, and fill in the facts about messages. Return -1 on failure. */
static int index_all(PyObject *spans, PyObject *results, PyObject *channel_of, PyObject *kinds, PyObject *role,
                     PyObject *channels, Messages *all)
{
    PyObject *scaffold = PyTuple_GetItem(kinds, 0), *content = PyTuple_GetItem(kinds, 1);
    Py_ssize_t count = PyList_Size(results), body = 0;
    for (Py_ssize_t at = 0; at < PyTuple_Size(spans); at++) {
        Span span;
        if (read_span(spans, at, &span) < 0)
            return -1;
        if (span.message < -1 || span.message >= count) {
            PyErr_SetString(PyExc_IndexError, "a span belongs to no message");
            return -1;
        }
        PyObject *channel = scaffold;
        if (PyTuple_Size(span.path)) {
            PyObject *is_result = span.message < 0 ? Py_None : PyList_GetItem(results, span.message);
            channel = is_result ? PyObject_CallFunctionObjArgs(channel_of, span.path, is_result, NULL) : NULL;
        } else
            Py_INCREF(channel);
        int failed = channel == NULL || PyList_Append(channels, channel) < 0;
        Py_XDECREF(channel);
        int is_body = channel != scaffold, is_role = failed || is_body ? 0 : is_role_path(span.path, role);
        if (failed || is_role < 0)
            return -1;
        if (span.message >= 0) {
            Message *message = &all->messages[span.message];
            close_before(all, span.message);
            if (!message->is_known)
                begin(all, &span, body);
            if (message->is_open)
                add_own(message, &span, at, is_body, is_role);
            if (channel == content && span.start < span.end && message->facts[CONTENT_START] < 0)
                message->facts[CONTENT_START] = span.start;
        }
        if (is_body)
            body = span.end;
    }
    return 0;
}

/* Return the facts about each message as tuples, None for a message without spans. */
static PyObject *facts_of(const Message *messages, Py_ssize_t count, PyTypeObject *type)
{
    PyObject *list = PyList_New(count);
    for (Py_ssize_t at = 0; list != NULL && at < count; at++) {
        PyObject *facts = messages[at].is_known ? new_tuple(type, FACTS) : Py_NewRef(Py_None);
        int failed = facts == NULL;
        for (int fact = 0; !failed && messages[at].is_known && fact < FACTS; fact++)
            failed = set_item(facts, fact, PyLong_FromSsize_t(messages[at].facts[fact]));
        if (facts != NULL && messages[at].is_known)
            facts = finish_leaf(facts, failed);
        if (facts == NULL || PyList_SetItem(list, at, facts) < 0)
            Py_CLEAR(list);
    }
    return list;
}

PyObject *native_index_spans(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *spans, *results, *channel_of, *kinds, *role, *type, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!OO!UO!:index_spans", &PyTuple_Type, &spans, &PyList_Type, &results, &channel_of,
                          &PyTuple_Type, &kinds, &role, &PyType_Type, &type))
        return NULL;
    if (PyTuple_Size(kinds) < 2 || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "index_spans takes two channels and a class of tuples");
        return NULL;
    }
    /* A caller's function could change the list. */
    PyObject *flags = copy_of_list(results), *channels = PyList_New(0), *facts = NULL;
    Py_ssize_t count = flags == NULL ? 0 : PyList_Size(flags);
    Messages all = {calloc((size_t)count + 1, sizeof(Message)), calloc((size_t)count + 1, sizeof(Py_ssize_t)), 0};
    if (all.messages == NULL || all.open == NULL)
        PyErr_NoMemory();
    else if (flags != NULL && channels != NULL && index_all(spans, flags, channel_of, kinds, role, channels, &all) == 0)
        facts = facts_of(all.messages, count, (PyTypeObject *)type);
    if (facts != NULL)
        result = PyTuple_Pack(2, channels, facts);
    free(all.messages);
    free(all.open);
    Py_XDECREF(flags);
    Py_XDECREF(channels);
    Py_XDECREF(facts);
    return result;
}

/* ==================
   Labels
   ================== */

enum { REGION = 4 }; /* the places of reasoning in a turn: its text, and its markers around it */

typedef struct {
    Py_ssize_t start, end, region[REGION];
    int is_turn, has_region, is_complex;
} Turn;

/* Everything that labels depend on besides the spans. */
typedef struct {
    Turn *turns;
    Py_ssize_t count;
    Py_ssize_t *borders; /* in order */
    Py_ssize_t border_count, next_border;
    PyObject *ends;  /* a dict: the message of the turn that ends at a place */
    PyObject *kinds; /* the channels scaffold, content and reasoning, then others that count as content */
    PyTypeObject *type;
    PyObject *labels; /* a list */
} Labelling;

static int read_numbers(PyObject *tuple, Py_ssize_t *numbers, Py_ssize_t count)
{
    int failed = !PyTuple_Check(tuple) || PyTuple_Size(tuple) < count;
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *number = PyTuple_GetItem(tuple, at);
        failed = !PyLong_CheckExact(number);
        numbers[at] = failed ? 0 : PyLong_AsSsize_t(number);
        failed = failed || PyErr_Occurred() != NULL;
    }
    if (failed) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, "a turn must be None or a tuple of its places");
    }
    return failed ? -1 : 0;
}

/* Read a turn: None, or its start, its end, the places of its reasoning or None, and whether Python has to label it. */
static int read_turn(PyObject *value, Turn *turn)
{
    if (value == Py_None)
        return 0;
    Py_ssize_t places[2];
    if (read_numbers(value, places, 2) < 0 || PyTuple_Size(value) != 4) {
        PyErr_SetString(PyExc_TypeError, "a turn must be None or a tuple of its places");
        return -1;
    }
    turn->is_turn = 1;
    turn->start = places[0];
    turn->end = places[1];
    turn->is_complex = PyTuple_GetItem(value, 3) == Py_True;
    PyObject *region = PyTuple_GetItem(value, 2);
    turn->has_region = region != Py_None;
    return turn->has_region ? read_numbers(region, turn->region, REGION) : 0;
}

static int add_label(const Labelling *all, const Span *span, PyObject *message, PyObject *channel, int sampled,
                     int content)
{
    PyObject *label = new_tuple(all->type, 7);
    if (label != NULL)
        label = finish_leaf(label, set_item(label, 0, PyLong_FromSsize_t(span->start)) ||
                                       set_item(label, 1, PyLong_FromSsize_t(span->end)) ||
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

/* Return a new reference to the message of the turn that ends at a place. NULL if there is none, or with an error. */
static PyObject *message_ending_at(const Labelling *all, Py_ssize_t place)
{
    PyObject *key = PyLong_FromSsize_t(place);
    PyObject *message = key == NULL ? NULL : Py_XNewRef(PyDict_GetItemWithError(all->ends, key));
    Py_XDECREF(key);
    return message;
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
    PyObject *message = owner, *stopped = NULL;
    int sampled = turn != NULL && turn->start <= part->start && part->start < part->end && part->end <= turn->end;
    if (!sampled) {
        stopped = message_ending_at(all, part->end);
        if (stopped == NULL && PyErr_Occurred())
            return -1;
        Py_ssize_t index = stopped == NULL || !PyLong_CheckExact(stopped) ? -1 : PyLong_AsSsize_t(stopped);
        PyErr_Clear();
        const Turn *before = index == part->message ? NULL : turn_of(all, index);
        if (before != NULL && before->is_complex) {
            Py_DECREF(stopped);
            return 1;
        }
        if (before != NULL && before->start <= part->start && part->start < part->end) {
            /* The stop token of the previous turn, which the template writes at the start of this message. */
            message = stopped;
            sampled = 1;
        }
    }
    int content = sampled || (is_content_channel(all, channel) && (turn == NULL || part->start >= turn->end));
    int failed = add_label(all, part, message, channel, sampled, content);
    Py_XDECREF(stopped);
    return failed;
}

static int compare_places(const void *one, const void *other)
{
    Py_ssize_t left = *(const Py_ssize_t *)one, right = *(const Py_ssize_t *)other;
    return (left > right) - (left < right);
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

static Py_ssize_t *read_borders(PyObject *list, Py_ssize_t count)
{
    Py_ssize_t *borders = PyMem_Malloc((size_t)(count + 1) * sizeof(Py_ssize_t));
    if (borders == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t at = 0; at < count; at++) {
        PyObject *number = PyList_GetItem(list, at);
        borders[at] = PyLong_CheckExact(number) ? PyLong_AsSsize_t(number) : -1;
        if (PyErr_Occurred() || borders[at] < (at ? borders[at - 1] : 0)) {
            PyErr_Clear();
            PyErr_SetString(PyExc_ValueError, "borders must be numbers in order");
            PyMem_Free(borders);
            return NULL;
        }
    }
    return borders;
}

PyObject *native_label_spans(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *spans, *channels, *turns, *borders, *ends, *media, *kinds, *type, *otherwise;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!O:label_spans", &PyTuple_Type, &spans, &PyList_Type, &channels,
                          &PyList_Type, &turns, &PyList_Type, &borders, &PyDict_Type, &ends, &PyDict_Type, &media,
                          &PyTuple_Type, &kinds, &PyType_Type, &type, &otherwise))
        return NULL;
    if (PyTuple_Size(kinds) < 3 || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "label_spans takes three channels and a class of tuples");
        return NULL;
    }
    /* Created first, because its allocation can run finalizers. */
    PyObject *labels = PyList_New(0);
    Py_ssize_t count = PyList_Size(turns), border_count = PyList_Size(borders);
    Labelling all = {
        .turns = calloc((size_t)count + 1, sizeof(Turn)),
        .count = count,
        .borders = read_borders(borders, border_count),
        .border_count = border_count,
        .ends = ends,
        .kinds = kinds,
        .type = (PyTypeObject *)type,
        .labels = labels,
    };
    int failed = all.turns == NULL || all.borders == NULL || labels == NULL;
    if (all.turns == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t at = 0; !failed && at < count; at++)
        failed = read_turn(PyList_GetItem(turns, at), &all.turns[at]) < 0;
    failed = failed || label_all(&all, spans, channels, media, otherwise) < 0;
    PyObject *result = failed ? NULL : PyList_AsTuple(labels);
    free(all.turns);
    PyMem_Free(all.borders);
    Py_XDECREF(labels);
    return result;
}
