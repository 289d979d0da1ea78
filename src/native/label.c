/* Label spans with channels and sampled flags.

   `renderers.rendering.span_labels` does the same in Python. Inputs are not trusted: nothing outside of them is read,
   whatever they hold. */

#include "span.h"

#include <stdlib.h>

#define TURN "a turn must be None or a tuple of its places"

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
    turn->first = places[0];
    turn->start = places[1];
    turn->end = places[2];
    turn->prompted = PyTuple_Size(prompted) ? prompted : NULL;
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

static Py_ssize_t prompted_count(const Turn *turn)
{
    return turn->prompted == NULL ? 0 : PyTuple_Size(turn->prompted);
}

int begin_labels(Labelling *all)
{
    size_t most = 0;
    for (Py_ssize_t at = 0; at < all->count; at++)
        if (all->turns[at].is_turn)
            most += 1 + (size_t)prompted_count(&all->turns[at]);
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
        for (Py_ssize_t range = 0; range < prompted_count(turn); range++) {
            if (read_numbers(PyTuple_GetItem(turn->prompted, range), &all->borders[all->border_count], 2, TURN) < 0)
                return -1;
            all->border_count += 2;
        }
    }
    qsort(all->borders, (size_t)all->border_count, sizeof(Py_ssize_t), compare_places);
    qsort(all->ends, (size_t)all->end_count, sizeof(TurnEnd), compare_ends);
    return 0;
}

void end_labels(Labelling *all)
{
    PyMem_Free(all->borders);
    PyMem_Free(all->ends);
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

/* Add the label of a part of a span. As `label_span`. */
static int label_part(const Labelling *all, const Span *part, PyObject *channel, const Turn *turn)
{
    Py_ssize_t message = part->message;
    int sampled = turn != NULL && turn->start <= part->start && part->start < part->end && part->end <= turn->end;
    if (!sampled) {
        Py_ssize_t index = message_ending_at(all, part->end);
        const Turn *before = index == part->message ? NULL : turn_of(all, index);
        if (before != NULL && before->prompted != NULL)
            return 1;
        if (before != NULL && before->start <= part->start && part->start < part->end) {
            /* The stop token of the previous turn, which the template writes at the start of this message. */
            message = index;
            sampled = 1;
        }
    }
    int content = sampled || (is_content_channel(all, channel) && (turn == NULL || part->start >= turn->end));
    return all->add(all->target, part, message, channel, sampled, content);
}

/* Split a span at the borders in it, and at those of reasoning. */
int label_span(Labelling *all, const Span *span, PyObject *channel)
{
    while (all->next_border < all->border_count && all->borders[all->next_border] <= span->start)
        all->next_border++;
    const Turn *turn = turn_of(all, span->message);
    if (turn != NULL && turn->prompted != NULL)
        return 1;
    const Py_ssize_t *region =
        turn != NULL && turn->has_region && channel == PyTuple_GetItem(all->kinds, 1) ? turn->region : NULL;
    Py_ssize_t last = all->next_border;
    while (last < all->border_count && all->borders[last] < span->end)
        last++;
    Py_ssize_t inside = last - all->next_border;
    if (!inside && region == NULL)
        return label_part(all, span, channel, turn);
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
    for (Py_ssize_t at = 0; done == 0 && at <= count; at++) {
        if (at < count && cuts[at] == part.start)
            continue;
        part.end = cuts[at];
        done = label_part(all, &part, region == NULL ? channel : channel_in(all, region, &part), turn);
        part.start = part.end;
    }
    PyMem_Free(cuts);
    return done;
}

/* ==================
   Labels as tuples
   ================== */

/* A list of labels, and their type. */
typedef struct {
    PyObject *list;
    PyTypeObject *type;
} LabelTuples;

/* Return a new reference to a number of a part of a span: to the object in the span if it has the same value. */
static PyObject *number_of(const Span *part, int index, Py_ssize_t number)
{
    PyObject *own = PyTuple_GetItem(part->source, index);
    return PyLong_AsSsize_t(own) == number ? Py_NewRef(own) : PyLong_FromSsize_t(number);
}

static int append_label(void *target, const Span *part, Py_ssize_t message, PyObject *channel, int sampled, int content)
{
    const LabelTuples *labels = target;
    PyObject *label = new_tuple(labels->type, 7);
    if (label != NULL)
        label = finish_leaf(label, set_item(label, 0, number_of(part, 0, part->start)) ||
                                       set_item(label, 1, number_of(part, 1, part->end)) ||
                                       set_item(label, 2, number_of(part, 2, message)) ||
                                       set_item(label, 3, Py_NewRef(part->path)) ||
                                       set_item(label, 4, Py_NewRef(channel)) ||
                                       set_item(label, 5, PyBool_FromLong(sampled)) ||
                                       set_item(label, 6, PyBool_FromLong(content)));
    int failed = label == NULL || PyList_Append(labels->list, label) < 0;
    Py_XDECREF(label);
    return failed ? -1 : 0;
}

/* Label all spans. Those that Python has to label are passed to `otherwise`, which returns a list of labels. */
static int label_all(Labelling *all, const Spans *spans, PyObject *labels, PyObject *channels, PyObject *media,
                     PyObject *otherwise)
{
    for (Py_ssize_t at = 0; at < spans->count; at++) {
        const Span *span = &spans->items[at];
        if (at >= PyList_Size(channels)) {
            PyErr_SetString(PyExc_ValueError, "each span needs a channel");
            return -1;
        }
        /* A label is a container. Up to Python 3.11, its allocation can run finalizers, which can change the list. */
        PyObject *channel = Py_NewRef(PyList_GetItem(channels, at)), *owner = PyTuple_GetItem(span->source, 2);
        Py_ssize_t before = PyList_Size(labels);
        int done = PyTuple_Size(span->path) || !PyDict_Size(media) ? 0 : PyDict_Contains(media, owner);
        if (done == 0)
            done = label_span(all, span, channel);
        if (done > 0) {
            PyObject *made = PyObject_CallFunctionObjArgs(otherwise, span->source, channel, NULL);
            /* Labels of its first parts may have been added. */
            done = made == NULL ? -1 : PyList_SetSlice(labels, before, PyList_Size(labels), made);
            Py_XDECREF(made);
        }
        Py_DECREF(channel);
        if (done < 0)
            return -1;
    }
    return 0;
}

PyObject *native_label_spans(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *tuple, *channels, *turns, *media, *kinds, *type, *otherwise;
    if (!PyArg_ParseTuple(args, "O!O!O!O!O!O!O:label_spans", &PyTuple_Type, &tuple, &PyList_Type, &channels,
                          &PyList_Type, &turns, &PyDict_Type, &media, &PyTuple_Type, &kinds, &PyType_Type, &type,
                          &otherwise))
        return NULL;
    if (PyTuple_Size(kinds) < 3 || !PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "label_spans takes three channels and a class of tuples");
        return NULL;
    }
    /* A finalizer could change the list, and prompted ranges are read from it. */
    PyObject *own_turns = copy_of_list(turns);
    LabelTuples labels = {PyList_New(0), (PyTypeObject *)type};
    Spans spans = {0};
    Py_ssize_t count = own_turns == NULL ? 0 : PyList_Size(own_turns);
    Labelling all = {
        .turns = calloc((size_t)count + 1, sizeof(Turn)),
        .count = count,
        .kinds = kinds,
        .add = append_label,
        .target = &labels,
    };
    int failed = all.turns == NULL || own_turns == NULL || labels.list == NULL;
    if (all.turns == NULL)
        PyErr_NoMemory();
    for (Py_ssize_t at = 0; !failed && at < count; at++)
        failed = read_turn(PyList_GetItem(own_turns, at), &all.turns[at]) < 0;
    failed = failed || read_spans(tuple, &spans) < 0 || begin_labels(&all) < 0 ||
             label_all(&all, &spans, labels.list, channels, media, otherwise) < 0;
    PyObject *result = failed ? NULL : PyList_AsTuple(labels.list);
    end_labels(&all);
    free(all.turns);
    PyMem_Free(spans.items);
    Py_XDECREF(own_turns);
    Py_XDECREF(labels.list);
    return result;
}
