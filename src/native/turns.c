/* Find the sampled text of turns, where no rule but the usual ones applies.

   `renderers.rendering.turns` does the same in Python, for all turns. Inputs are not trusted: nothing outside of them is
   read, whatever they hold. Lists are copied first, as a finalizer or a comparison could change them. */

#include "span.h"

/* A special token in the text. */
typedef struct {
    Py_ssize_t start, end;
    PyObject *text; /* borrowed */
} Mark;

static int is_ascii_space(Py_UCS4 character)
{
    return character == ' ' || (character >= '\t' && character <= '\r') || (character >= 0x1C && character <= 0x1F);
}

static int is_ascii_word(Py_UCS4 character)
{
    Py_UCS4 letter = character | 0x20;
    return (letter >= 'a' && letter <= 'z') || (character >= '0' && character <= '9') || character == '_';
}

/* ==================
   Special tokens
   ================== */

static int read_mark(const TurnRules *rules, Py_ssize_t at, Mark *mark)
{
    PyObject *tuple = PyList_GetItem(rules->marks, at);
    Py_ssize_t places[2];
    if (tuple == NULL || read_numbers(tuple, places, 2, "a match must be a tuple of a start, an end and a text") < 0)
        return -1;
    mark->start = places[0];
    mark->end = places[1];
    mark->text = PyTuple_Size(tuple) > 2 ? PyTuple_GetItem(tuple, 2) : NULL;
    if (mark->text == NULL || !PyUnicode_Check(mark->text)) {
        PyErr_SetString(PyExc_TypeError, "a match must be a tuple of a start, an end and a text");
        return -1;
    }
    if (mark->start >= 0 && mark->start <= mark->end && mark->end <= rules->length)
        return 0;
    PyErr_SetString(PyExc_ValueError, "matches must be within the text");
    return -1;
}

/* Return the number of the first special token that does not start before a place; -1 on failure. */
static Py_ssize_t first_mark(const TurnRules *rules, Py_ssize_t place)
{
    Py_ssize_t low = 0, high = PyList_Size(rules->marks);
    while (low < high) {
        Py_ssize_t middle = low + (high - low) / 2;
        Mark mark;
        if (read_mark(rules, middle, &mark) < 0)
            return -1;
        if (mark.start < place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Fill in the end of the token that opens the next message and stops the turn before it, or -1. */
static Outcome find_following(const TurnRules *rules, Py_ssize_t end, Py_ssize_t next_span, Py_ssize_t *stop)
{
    const Span *spans = rules->spans.items;
    *stop = -1;
    while (next_span < rules->spans.count && spans[next_span].start >= spans[next_span].end)
        next_span++;
    if (next_span >= rules->spans.count || spans[next_span].message < 0 || PyTuple_Size(spans[next_span].path))
        return FOUND;
    Py_ssize_t at = first_mark(rules, end);
    Mark mark;
    if (at < 0 || (at < PyList_Size(rules->marks) && read_mark(rules, at, &mark) < 0))
        return FAILED;
    if (at == PyList_Size(rules->marks) || mark.start != end)
        return FOUND;
    int is_special = PySet_Contains(rules->special, mark.text), stops = rules->end_token == NULL;
    /* Any token can stop the turn if no stop token is known. */
    if (is_special > 0 && PySet_Size(rules->stop_tokens))
        stops = PySet_Contains(rules->stop_tokens, mark.text);
    if (is_special < 0 || stops < 0)
        return FAILED;
    if (is_special && stops)
        *stop = mark.end;
    return FOUND;
}

/* Fill in the end of a turn with its last body, its text, and the first span after it. */
static Outcome find_end(const TurnRules *rules, Py_ssize_t last, Py_ssize_t end, Py_ssize_t next_span, Py_ssize_t *found)
{
    Py_ssize_t token_end = -1, count = PyList_Size(rules->marks);
    Py_ssize_t at = first_mark(rules, last);
    if (at < 0)
        return FAILED;
    for (; at < count; at++) {
        Mark mark;
        if (read_mark(rules, at, &mark) < 0)
            return FAILED;
        if (mark.end > end)
            break;
        int is_special = PySet_Contains(rules->special, mark.text);
        if (is_special < 0)
            return FAILED;
        if (!is_special)
            continue;
        token_end = mark.end;
        if (rules->end_token != NULL && PyUnicode_Compare(mark.text, rules->end_token) == 0) {
            *found = token_end;
            return FOUND;
        }
    }
    Outcome outcome = find_following(rules, end, next_span, found);
    if (outcome != FOUND || *found >= 0)
        return outcome;
    if (token_end >= 0) {
        *found = token_end;
        return FOUND;
    }
    while (end > last) {
        Py_UCS4 character = PyUnicode_ReadChar(rules->text, end - 1);
        if (character > 0x7F)
            return UNDECIDED;
        if (!is_ascii_space(character))
            break;
        end--;
    }
    *found = end;
    return FOUND;
}

/* ==================
   Turns
   ================== */

/* Fill in the end of a header that a generation prompt contains as it is. */
static Outcome find_header(const TurnRules *rules, const Py_ssize_t *facts, PyObject *headers, Py_ssize_t *found)
{
    Py_ssize_t body = facts[FIRST_BODY] < 0 ? facts[OWN_END] : facts[FIRST_BODY], end = -1;
    for (Py_ssize_t at = 0; end < 0 && at < PyTuple_Size(headers); at++) {
        PyObject *header = PyTuple_GetItem(headers, at);
        int is_header = PyTuple_Check(header) && PyTuple_Size(header) == 3 &&
                        PyUnicode_Check(PyTuple_GetItem(header, 0)) && PyUnicode_Check(PyTuple_GetItem(header, 1));
        if (!is_header) {
            PyErr_SetString(PyExc_TypeError, "a header must be a tuple of its text, its prompt and a flag");
            return FAILED;
        }
        PyObject *text = PyTuple_GetItem(header, 0);
        int is_default = PyTuple_GetItem(header, 2) == Py_True;
        Py_ssize_t size = PyUnicode_GetLength(text), limit = is_default ? facts[OWN_END] : body;
        if ((!size && !is_default) || facts[PREVIOUS_BODY] + size > limit)
            continue;
        Py_ssize_t matches = PyUnicode_Tailmatch(rules->text, text, facts[PREVIOUS_BODY], rules->length, -1);
        if (matches < 0)
            return FAILED;
        if (matches)
            end = facts[PREVIOUS_BODY] + size;
    }
    if (end < 0)
        return UNDECIDED;
    *found = end < facts[OWN_START] ? facts[OWN_START] : end;
    if (*found >= body)
        return FOUND;
    /* Another name of the role may follow. */
    Py_UCS4 character = PyUnicode_ReadChar(rules->text, *found);
    return facts[ROLE_END] > *found || character > 0x7F || is_ascii_word(character) ? UNDECIDED : FOUND;
}

/* Return UNDECIDED if a turn may have generation prompts within it. */
static Outcome check_inner_prompts(const TurnRules *rules, const Turn *turn, PyObject *headers)
{
    PyObject *prompt = PyTuple_GetItem(PyTuple_GetItem(headers, 0), 1);
    if (PyUnicode_GetLength(prompt) == 0)
        return FOUND;
    Py_ssize_t found = PyUnicode_Find(rules->text, prompt, turn->start, turn->end, 1);
    return found < -1 ? FAILED : found < 0 ? FOUND : UNDECIDED;
}

/* Fill in the reasoning at the start of a turn. Its content starts at a place, or is missing with -1. */
static Outcome find_reasoning(const TurnRules *rules, Turn *turn, Py_ssize_t content)
{
    Py_ssize_t *region = turn->region;
    if (rules->opening == NULL)
        return FOUND;
    region[0] = PyUnicode_Find(rules->text, rules->opening, turn->first, turn->end, 1);
    if (region[0] < 0)
        return region[0] < -1 ? FAILED : FOUND;
    for (Py_ssize_t at = content < 0 ? turn->end : content; at < region[0]; at++) {
        Py_UCS4 character = PyUnicode_ReadChar(rules->text, at);
        if (character > 0x7F)
            return UNDECIDED;
        if (!is_ascii_space(character))
            return FOUND;
    }
    region[1] = region[0] + PyUnicode_GetLength(rules->opening);
    region[2] = PyUnicode_Find(rules->text, rules->closing, region[1], turn->end, 1);
    if (region[2] < -1)
        return FAILED;
    region[3] = region[2] < 0 ? turn->end : region[2] + PyUnicode_GetLength(rules->closing);
    region[2] = region[2] < 0 ? turn->end : region[2];
    turn->has_region = 1;
    return FOUND;
}

Outcome find_turn(const TurnRules *rules, const Py_ssize_t *facts, PyObject *headers, Turn *turn)
{
    if (!PyTuple_Check(headers)) {
        PyErr_SetString(PyExc_TypeError, "the headers of a turn must be a tuple");
        return FAILED;
    }
    for (int fact = 0; fact < FACTS; fact++)
        if (fact != NEXT_SPAN && facts[fact] > rules->length) {
            PyErr_SetString(PyExc_ValueError, "places of messages must be within the text");
            return FAILED;
        }
    if (facts[OWN_START] < 0 || facts[OWN_END] < facts[OWN_START] || facts[PREVIOUS_BODY] < 0 || facts[NEXT_SPAN] < 0 ||
        PyTuple_Size(headers) == 0)
        return UNDECIDED;
    turn->is_turn = 1;
    turn->first = facts[OWN_START];
    Outcome outcome = find_header(rules, facts, headers, &turn->start);
    if (outcome == FOUND) {
        Py_ssize_t last = facts[LAST_BODY] > turn->start ? facts[LAST_BODY] : turn->start;
        Py_ssize_t end = facts[OWN_END] > last ? facts[OWN_END] : last;
        outcome = find_end(rules, last, end, facts[NEXT_SPAN], &turn->end);
    }
    if (outcome == FOUND)
        outcome = check_inner_prompts(rules, turn, headers);
    return outcome == FOUND ? find_reasoning(rules, turn, facts[CONTENT_START]) : outcome;
}

/* ==================
   Results
   ================== */

/* The classes of turns and of reasoning. */
typedef struct {
    PyTypeObject *turn, *region;
} Types;

static PyObject *region_of(const Types *types, const Turn *turn)
{
    if (!turn->has_region)
        return Py_NewRef(Py_None);
    PyObject *region = new_tuple(types->region, REGION);
    int failed = region == NULL;
    for (int at = 0; !failed && at < REGION; at++)
        failed = set_item(region, at, PyLong_FromSsize_t(turn->region[at]));
    return region == NULL ? NULL : finish_leaf(region, failed);
}

static PyObject *turn_of(const Types *types, const Turn *turn)
{
    PyObject *made = new_tuple(types->turn, 5);
    return made == NULL ? NULL
                        : finish_leaf(made, set_item(made, 0, PyLong_FromSsize_t(turn->first)) ||
                                                set_item(made, 1, PyLong_FromSsize_t(turn->start)) ||
                                                set_item(made, 2, PyLong_FromSsize_t(turn->end)) ||
                                                set_item(made, 3, PyTuple_New(0)) ||
                                                set_item(made, 4, region_of(types, turn)));
}

/* Return a turn, None without headers, False if Python has to find it. */
static PyObject *found_turn(const TurnRules *rules, const Types *types, PyObject *places, PyObject *headers)
{
    if (headers == Py_None)
        return Py_NewRef(Py_None);
    Py_ssize_t facts[FACTS];
    if (read_numbers(places, facts, FACTS, "a message must have a tuple of its places") < 0)
        return NULL;
    Turn turn = {0};
    Outcome outcome = find_turn(rules, facts, headers, &turn);
    if (outcome == UNDECIDED)
        return Py_NewRef(Py_False);
    return outcome == FOUND ? turn_of(types, &turn) : NULL;
}

/* Return the turns of all messages. */
static PyObject *find_all(const TurnRules *rules, const Types *types, PyObject *places, PyObject *headers)
{
    Py_ssize_t count = PyList_Size(places);
    PyObject *turns = PyList_New(0);
    int failed = turns == NULL;
    if (PyList_Size(headers) != count) {
        PyErr_SetString(PyExc_ValueError, "each message needs an entry of headers");
        failed = 1;
    }
    for (Py_ssize_t at = 0; !failed && at < count; at++) {
        PyObject *made = found_turn(rules, types, PyList_GetItem(places, at), PyList_GetItem(headers, at));
        failed = made == NULL || PyList_Append(turns, made) < 0;
        Py_XDECREF(made);
    }
    if (failed)
        Py_CLEAR(turns);
    return turns;
}

/* Read a text that may be None. Return -1 if it is anything else. */
static int read_text(PyObject *value, PyObject **text)
{
    *text = value == Py_None ? NULL : value;
    return *text == NULL || PyUnicode_Check(value) ? 0 : -1;
}

int read_turn_rules(PyObject *settings, TurnRules *rules)
{
    PyObject *markers, *end_token, *opening, *closing;
    /* A format in parentheses would take other sequences too, and release their items. */
    if (!PyArg_ParseTuple(settings, "O!O!OO!:turn rules", &PyFrozenSet_Type, &rules->special, &PyFrozenSet_Type,
                          &rules->stop_tokens, &end_token, &PyTuple_Type, &markers) ||
        !PyArg_ParseTuple(markers, "OO:turn rules", &opening, &closing))
        return -1;
    if (read_text(end_token, &rules->end_token) == 0 && read_text(opening, &rules->opening) == 0 &&
        read_text(closing, &rules->closing) == 0 && (rules->opening == NULL) == (rules->closing == NULL))
        return 0;
    PyErr_SetString(PyExc_TypeError, "the rules of turns must have texts or None");
    return -1;
}

static int is_tuple_type(PyObject *type)
{
    return PyType_Check(type) && PyType_IsSubtype((PyTypeObject *)type, &PyTuple_Type);
}

PyObject *native_find_turns(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *spans, *places, *headers, *marks, *settings, *types, *turn_type, *region_type;
    TurnRules rules = {0};
    if (!PyArg_ParseTuple(args, "UO!O!O!O!O!O!:find_turns", &rules.text, &PyTuple_Type, &spans, &PyList_Type, &places,
                          &PyList_Type, &headers, &PyList_Type, &marks, &PyTuple_Type, &settings, &PyTuple_Type, &types) ||
        !PyArg_ParseTuple(types, "OO:find_turns", &turn_type, &region_type) || read_turn_rules(settings, &rules) < 0)
        return NULL;
    if (!is_tuple_type(turn_type) || !is_tuple_type(region_type)) {
        PyErr_SetString(PyExc_TypeError, "find_turns takes classes of tuples");
        return NULL;
    }
    rules.length = PyUnicode_GetLength(rules.text);
    Types made = {(PyTypeObject *)turn_type, (PyTypeObject *)region_type};
    PyObject *own_places = copy_of_list(places), *own_headers = copy_of_list(headers), *result = NULL;
    rules.marks = copy_of_list(marks);
    if (own_places != NULL && own_headers != NULL && rules.marks != NULL && read_spans(spans, &rules.spans) == 0)
        result = find_all(&rules, &made, own_places, own_headers);
    PyMem_Free(rules.spans.items);
    Py_XDECREF(own_places);
    Py_XDECREF(own_headers);
    Py_XDECREF(rules.marks);
    return result;
}
