/* Find the channel of each span, the spans of each message, and the special tokens that are not template text.

   `renderers.rendering.span_labels` and `renderers.rendering.control_text` do the same in Python. Inputs are not
   trusted: nothing outside of them is read, whatever they hold. */

#include "span.h"

#include <stdlib.h>

static int read_span(PyObject *tuple, Span *span)
{
    int is_span = PyTuple_Check(tuple) && PyTuple_Size(tuple) == 4;
    Py_ssize_t *numbers[] = {&span->start, &span->end, &span->message};
    for (int index = 0; is_span && index < 3; index++) {
        PyObject *number = PyTuple_GetItem(tuple, index);
        is_span = PyLong_CheckExact(number);
        *numbers[index] = is_span ? PyLong_AsSsize_t(number) : 0;
        is_span = is_span && (*numbers[index] != -1 || !PyErr_Occurred());
    }
    span->path = is_span ? PyTuple_GetItem(tuple, 3) : NULL;
    span->source = tuple;
    if (is_span && PyTuple_Check(span->path) && span->start >= 0 && span->start <= span->end)
        return 0;
    PyErr_Clear();
    PyErr_SetString(PyExc_TypeError, "a span must be a tuple of a start, an end, a message and a path");
    return -1;
}

int read_spans(PyObject *tuple, Spans *spans)
{
    spans->count = PyTuple_Size(tuple);
    spans->items = PyMem_Malloc(((size_t)spans->count + 1) * sizeof(Span));
    if (spans->items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t at = 0; at < spans->count; at++)
        if (read_span(PyTuple_GetItem(tuple, at), &spans->items[at]) < 0)
            return -1;
    return 0;
}

int read_numbers(PyObject *tuple, Py_ssize_t *numbers, Py_ssize_t count, const char *expected)
{
    int failed = !PyTuple_Check(tuple) || PyTuple_Size(tuple) < count;
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *number = PyTuple_GetItem(tuple, at);
        failed = !PyLong_CheckExact(number);
        numbers[at] = failed ? 0 : PyLong_AsSsize_t(number);
        failed = failed || (numbers[at] == -1 && PyErr_Occurred() != NULL);
    }
    if (failed) {
        PyErr_Clear();
        PyErr_SetString(PyExc_TypeError, expected);
    }
    return failed ? -1 : 0;
}

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

/* The argument that the last span of no message belongs to: the first key of its path, which the spans keep alive, and a
   reference to its channel. */
typedef struct {
    PyObject *key, *channel;
} Argument;

/* Return the channel of a span with a path as a new reference. That of an argument depends on the argument alone. */
static PyObject *find_channel(const Span *span, const ChannelRules *rules, Argument *last)
{
    PyObject *key = PyTuple_GetItem(span->path, 0);
    if (span->message < 0 && key == last->key)
        return Py_NewRef(last->channel);
    PyObject *is_result = span->message < 0 ? Py_None : PyList_GetItem(rules->results, span->message);
    PyObject *channel = is_result ? PyObject_CallFunctionObjArgs(rules->channel_of, span->path, is_result, NULL) : NULL;
    if (channel != NULL && span->message < 0) {
        Py_XDECREF(last->channel);
        last->key = key;
        last->channel = Py_NewRef(channel);
    }
    return channel;
}

/* Fill in the channels of spans, and the facts about messages. Return -1 on failure. */
static int index_all(const Spans *spans, const ChannelRules *rules, PyObject **channels, Messages *all,
                     Argument *argument)
{
    PyObject *scaffold = PyTuple_GetItem(rules->kinds, 0), *content = PyTuple_GetItem(rules->kinds, 1);
    Py_ssize_t count = PyList_Size(rules->results), body = 0;
    for (Py_ssize_t at = 0; at < spans->count; at++) {
        const Span *span = &spans->items[at];
        if (span->message < -1 || span->message >= count) {
            PyErr_SetString(PyExc_IndexError, "a span belongs to no message");
            return -1;
        }
        int has_path = PyTuple_Size(span->path) > 0;
        PyObject *channel = has_path ? find_channel(span, rules, argument) : Py_NewRef(scaffold);
        channels[at] = channel;
        int is_body = channel != scaffold, is_role = is_body ? 0 : is_role_path(span->path, rules->role);
        if (channel == NULL || is_role < 0)
            return -1;
        if (span->message >= 0) {
            Message *message = &all->messages[span->message];
            close_before(all, span->message);
            if (!message->is_known)
                begin(all, span, body);
            if (message->is_open)
                add_own(message, span, at, is_body, is_role);
            if (channel == content && span->start < span->end && message->facts[CONTENT_START] < 0)
                message->facts[CONTENT_START] = span->start;
        }
        if (is_body)
            body = span->end;
    }
    return 0;
}

PyObject **new_channels(const Spans *spans)
{
    PyObject **channels = calloc((size_t)spans->count + 1, sizeof(PyObject *));
    return channels == NULL ? (PyObject **)PyErr_NoMemory() : channels;
}

void free_channels(const Spans *spans, PyObject **channels)
{
    for (Py_ssize_t at = 0; channels != NULL && at < spans->count; at++)
        Py_XDECREF(channels[at]);
    free(channels);
}

static PyObject *list_of(const Spans *spans, PyObject **channels)
{
    PyObject *list = PyList_New(spans->count);
    for (Py_ssize_t at = 0; list != NULL && at < spans->count; at++)
        if (PyList_SetItem(list, at, Py_NewRef(channels[at])) < 0)
            Py_CLEAR(list);
    return list;
}

Message *index_messages(const Spans *spans, const ChannelRules *rules, PyObject **channels)
{
    size_t most = (size_t)PyList_Size(rules->results) + 1;
    Messages all = {calloc(most, sizeof(Message)), calloc(most, sizeof(Py_ssize_t)), 0};
    Argument argument = {NULL, NULL};
    int failed = all.messages == NULL || all.open == NULL;
    if (failed)
        PyErr_NoMemory();
    failed = failed || index_all(spans, rules, channels, &all, &argument) < 0;
    Py_XDECREF(argument.channel);
    free(all.open);
    if (failed)
        free(all.messages);
    return failed ? NULL : all.messages;
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
    PyObject *tuple, *results, *type, *result = NULL;
    ChannelRules rules = {0};
    if (!PyArg_ParseTuple(args, "O!O!OO!UO!:index_spans", &PyTuple_Type, &tuple, &PyList_Type, &results,
                          &rules.channel_of, &PyTuple_Type, &rules.kinds, &rules.role, &PyType_Type, &type))
        return NULL;
    if (PyTuple_Size(rules.kinds) < 2 || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "index_spans takes two channels and a class of tuples");
        return NULL;
    }
    /* A caller's function could change the list. */
    rules.results = copy_of_list(results);
    Spans spans = {0};
    PyObject **channels = NULL;
    if (rules.results != NULL && read_spans(tuple, &spans) == 0 && (channels = new_channels(&spans)) != NULL) {
        Py_ssize_t count = PyList_Size(rules.results);
        Message *messages = index_messages(&spans, &rules, channels);
        PyObject *facts = messages == NULL ? NULL : facts_of(messages, count, (PyTypeObject *)type);
        result = facts == NULL ? NULL : pair_of(list_of(&spans, channels), facts);
        free(messages);
    }
    free_channels(&spans, channels);
    PyMem_Free(spans.items);
    Py_XDECREF(rules.results);
    return result;
}

/* Append the matches that are not inside one span of template text to a list. Return -1 on failure. */
static int find_touching(PyObject *spans, PyObject *tokens, PyObject *found)
{
    Span span = {0};
    Py_ssize_t next = 0, places[2];
    for (Py_ssize_t at = 0; at < PyList_Size(tokens); at++) {
        PyObject *token = PyList_GetItem(tokens, at);
        if (read_numbers(token, places, 2, "a match must be a tuple of a start, an end and a text") < 0)
            return -1;
        while (span.end <= places[0]) {
            if (next >= PyTuple_Size(spans)) {
                PyErr_SetString(PyExc_ValueError, "tokens must be within the spans");
                return -1;
            }
            if (read_span(PyTuple_GetItem(spans, next++), &span) < 0)
                return -1;
        }
        if ((PyTuple_Size(span.path) || span.end < places[1]) && PyList_Append(found, token) < 0)
            return -1;
    }
    return 0;
}

PyObject *native_touching_fields(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *spans, *tokens;
    if (!PyArg_ParseTuple(args, "O!O!:touching_fields", &PyTuple_Type, &spans, &PyList_Type, &tokens))
        return NULL;
    /* Up to Python 3.11, the allocation of a list can run finalizers, which can change the matches. No Python code runs
       after it. */
    PyObject *found = PyList_New(0);
    if (found != NULL && find_touching(spans, tokens, found) < 0)
        Py_CLEAR(found);
    return found;
}
