/* Check messages of the usual forms, and copy their reasoning to the keys that templates read.

   `renderers.core.messages` does the same in Python. Values that a function refers to are kept alive, because up to Python
   3.11 an allocation can run finalizers, which can change a dict or a list. */

#include "native.h"

/* The keys of messages and calls, in the order of the argument. */
enum { ROLE, CONTENT, NAME, RESULT_OF, CALLS, FUNCTION, ARGUMENTS, ID, REASONING_CONTENT, THINKING, REASONING, COUNT };

/* Return the value of a key, borrowed; NULL if it is missing, which is an error only if one is set. */
static PyObject *value_of(PyObject *dict, PyObject *const *words, int word)
{
    return PyDict_GetItemWithError(dict, words[word]);
}

static int is_text(PyObject *value)
{
    return value != NULL && PyUnicode_CheckExact(value);
}

static int is_text_or_none(PyObject *value)
{
    return value == NULL || value == Py_None || PyUnicode_CheckExact(value);
}

/* Return 1 for a call with a function, its name, and arguments and an id of the usual types. */
static int is_usual_call(PyObject *call, PyObject *const *words)
{
    PyObject *function = PyDict_CheckExact(call) ? value_of(call, words, FUNCTION) : NULL;
    if (function == NULL || !PyDict_CheckExact(function) || !is_text(value_of(function, words, NAME)))
        return 0;
    PyObject *arguments = value_of(function, words, ARGUMENTS), *id = value_of(call, words, ID);
    return (arguments == NULL || PyUnicode_CheckExact(arguments) || PyDict_CheckExact(arguments)) &&
           (id == NULL || PyUnicode_CheckExact(id));
}

/* Return 1 for a message of a usual form, and fill in its reasoning, NULL if it has none. */
static int is_usual(PyObject *message, PyObject *const *words, PyObject **reasoning)
{
    *reasoning = NULL;
    if (!PyDict_CheckExact(message) || !is_text(value_of(message, words, ROLE)) ||
        !is_text_or_none(value_of(message, words, CONTENT)) || !is_text_or_none(value_of(message, words, NAME)) ||
        !is_text_or_none(value_of(message, words, RESULT_OF)))
        return 0;
    PyObject *calls = value_of(message, words, CALLS);
    if (calls != NULL && calls != Py_None && !PyList_CheckExact(calls))
        return 0;
    for (Py_ssize_t at = 0; calls != NULL && calls != Py_None && at < PyList_Size(calls); at++)
        if (!is_usual_call(PyList_GetItem(calls, at), words))
            return 0;
    for (int word = REASONING_CONTENT; *reasoning == NULL && word <= REASONING; word++) {
        PyObject *value = value_of(message, words, word);
        *reasoning = value == Py_None ? NULL : value;
    }
    return is_text_or_none(*reasoning);
}

/* Return a message with reasoning under the keys that templates read. */
static PyObject *with_reasoning(PyObject *message, PyObject *reasoning, PyObject *const *words)
{
    PyObject *finished = PyDict_New();
    if (finished != NULL &&
        (PyDict_SetItem(finished, words[THINKING], reasoning) < 0 || PyDict_Update(finished, message) < 0 ||
         PyDict_SetItem(finished, words[REASONING_CONTENT], reasoning) < 0))
        Py_CLEAR(finished);
    if (finished != NULL && PyObject_GC_IsTracked(finished))
        PyObject_GC_UnTrack(finished);
    return finished;
}

/* Finish the message at an index. Return 1 if it is not usual, -1 on failure. */
static int finish(PyObject *messages, Py_ssize_t at, PyObject *const *words)
{
    PyObject *message = Py_NewRef(PyList_GetItem(messages, at)), *reasoning;
    int result = !is_usual(message, words, &reasoning);
    if (PyErr_Occurred())
        result = -1;
    if (result == 0 && reasoning != NULL) {
        Py_INCREF(reasoning);
        PyObject *finished = with_reasoning(message, reasoning, words);
        Py_DECREF(reasoning);
        result = finished == NULL ? -1 : PyList_SetItem(messages, at, finished);
    }
    Py_DECREF(message);
    return result;
}

PyObject *native_finish_messages(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *messages, *names, *words[COUNT];
    if (!PyArg_ParseTuple(args, "O!O!:finish_messages", &PyList_Type, &messages, &PyTuple_Type, &names))
        return NULL;
    int failed = PyTuple_Size(names) != COUNT;
    for (int word = 0; !failed && word < COUNT; word++) {
        words[word] = PyTuple_GetItem(names, word);
        failed = !PyUnicode_CheckExact(words[word]);
    }
    if (failed) {
        PyErr_SetString(PyExc_TypeError, "finish_messages takes the names of all keys");
        return NULL;
    }
    PyObject *others = PyList_New(0);
    for (Py_ssize_t at = 0; others != NULL && at < PyList_Size(messages); at++) {
        int is_other = finish(messages, at, words);
        PyObject *index = is_other > 0 ? PyLong_FromSsize_t(at) : NULL;
        if (is_other < 0 || (is_other > 0 && (index == NULL || PyList_Append(others, index) < 0)))
            Py_CLEAR(others);
        Py_XDECREF(index);
    }
    return others;
}
