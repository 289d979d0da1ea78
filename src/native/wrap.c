/* Wrap the contents of JSON data with their owners, and check that data is JSON.

   `renderers.templating.values` does the same in Python if this extension was not built. */

#include "native.h"

#define DEEPEST 200 /* deeper data is left to Python, which raises its own error */

/* The types of wrapped values, in the order of the argument, and what their creation needs. */
typedef struct {
    PyObject *text, *integer, *number, *dict, *list;
    newfunc new_text;
    PyObject *arguments; /* a tuple for the argument of `new_text` */
    PyObject *owner_name;
    PyObject *message;
    PyObject *path;
} Wrapping;

/* Return the owner of an item: the message, and the path of the container with a key at the end. */
static PyObject *owner_of(const Wrapping *wrapping, PyObject *key)
{
    Py_ssize_t size = PyTuple_Size(wrapping->path);
    PyObject *path = PyTuple_New(size + 1);
    if (path == NULL)
        return NULL;
    for (Py_ssize_t at = 0; at < size; at++)
        PyTuple_SetItem(path, at, Py_NewRef(PyTuple_GetItem(wrapping->path, at)));
    PyTuple_SetItem(path, size, Py_NewRef(key));
    PyObject *owner = PyTuple_Pack(2, wrapping->message, path);
    PyObject_GC_UnTrack(path);
    Py_DECREF(path);
    if (owner != NULL)
        PyObject_GC_UnTrack(owner);
    return owner;
}

/* Return an instance of the type that wraps a value, without its owner. */
static PyObject *instance_of(const Wrapping *wrapping, PyObject *value)
{
    if (PyUnicode_CheckExact(value)) {
        if (PyTuple_SetItem(wrapping->arguments, 0, Py_NewRef(value)) < 0)
            return NULL;
        return wrapping->new_text((PyTypeObject *)wrapping->text, wrapping->arguments, NULL);
    }
    PyObject *type = PyDict_CheckExact(value)   ? wrapping->dict
                     : PyList_CheckExact(value) ? wrapping->list
                     : PyLong_CheckExact(value) ? wrapping->integer
                                                : wrapping->number;
    return PyObject_CallFunctionObjArgs(type, value, NULL);
}

/* Return a wrapped value, or the value itself if it is not wrapped. */
static PyObject *wrap(const Wrapping *wrapping, PyObject *key, PyObject *value)
{
    if (!PyUnicode_CheckExact(value) && !PyDict_CheckExact(value) && !PyList_CheckExact(value) &&
        !PyLong_CheckExact(value) && !PyFloat_CheckExact(value))
        return Py_NewRef(value);
    PyObject *owner = owner_of(wrapping, key);
    PyObject *wrapped = owner == NULL ? NULL : instance_of(wrapping, value);
    if (wrapped != NULL && PyObject_SetAttr(wrapped, wrapping->owner_name, owner) < 0)
        Py_CLEAR(wrapped);
    if (wrapped != NULL && PyObject_GC_IsTracked(wrapped))
        /* The garbage collector need not visit it: nothing in it leads back to it. An owner is texts and numbers, and a
           template cannot change a container. */
        PyObject_GC_UnTrack(wrapped);
    Py_XDECREF(owner);
    return wrapped;
}

static int wrap_dict(const Wrapping *wrapping, PyObject *dict)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(dict, &place, &key, &value)) {
        Py_INCREF(key);
        Py_INCREF(value);
        PyObject *wrapped = wrap(wrapping, key, value);
        /* The value of an existing key may be replaced during the iteration. */
        int failed = wrapped == NULL || (wrapped != value && PyDict_SetItem(dict, key, wrapped) < 0);
        Py_XDECREF(wrapped);
        Py_DECREF(key);
        Py_DECREF(value);
        if (failed)
            return -1;
    }
    return 0;
}

static int wrap_list(const Wrapping *wrapping, PyObject *list)
{
    for (Py_ssize_t at = 0; at < PyList_Size(list); at++) {
        PyObject *value = Py_NewRef(PyList_GetItem(list, at));
        PyObject *index = PyLong_FromSsize_t(at);
        PyObject *wrapped = index == NULL ? NULL : wrap(wrapping, index, value);
        Py_XDECREF(index);
        Py_DECREF(value);
        if (wrapped == NULL || PyList_SetItem(list, at, wrapped) < 0)
            return -1;
    }
    return 0;
}

/* Begin to wrap values as `types` for texts, integers, floats, dicts and lists. Return -1 on failure. */
static int begin(Wrapping *wrapping, PyObject *types)
{
    if (PyTuple_Size(types) != 5) {
        PyErr_SetString(PyExc_TypeError, "there must be five types");
        return -1;
    }
    PyObject *text = PyTuple_GetItem(types, 0);
    if (!PyType_Check(text) || !PyType_IsSubtype((PyTypeObject *)text, &PyUnicode_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of texts must be a subclass of str");
        return -1;
    }
    *wrapping = (Wrapping){
        .text = text,
        .integer = PyTuple_GetItem(types, 1),
        .number = PyTuple_GetItem(types, 2),
        .dict = PyTuple_GetItem(types, 3),
        .list = PyTuple_GetItem(types, 4),
        .new_text = (newfunc)PyType_GetSlot(&PyUnicode_Type, Py_tp_new),
        .arguments = PyTuple_New(1),
        .owner_name = PyUnicode_InternFromString("_owner"),
    };
    return wrapping->arguments != NULL && wrapping->owner_name != NULL ? 0 : -1;
}

static void finish(const Wrapping *wrapping)
{
    Py_XDECREF(wrapping->owner_name);
    Py_XDECREF(wrapping->arguments);
}

/* Wrap the items of a container in place. Return -1 on failure. */
static int wrap_items(const Wrapping *wrapping, PyObject *container)
{
    if ((PyDict_Check(container) ? wrap_dict(wrapping, container) : wrap_list(wrapping, container)) < 0)
        return -1;
    if (!PyDict_CheckExact(container) && !PyList_CheckExact(container) && PyObject_GC_IsTracked(container))
        /* As in `wrap`. A dict is visited again once such values are set in it. */
        PyObject_GC_UnTrack(container);
    return 0;
}

PyObject *native_wrap_contents(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !(PyDict_Check(args[0]) || PyList_Check(args[0])) || !PyLong_Check(args[1]) ||
        !PyTuple_Check(args[2]) || !PyTuple_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "wrap_contents takes a dict or a list, an int, a path and five types");
        return NULL;
    }
    Wrapping wrapping = {0};
    int failed = begin(&wrapping, args[3]);
    wrapping.message = args[1];
    wrapping.path = args[2];
    failed = failed || wrap_items(&wrapping, args[0]) < 0;
    finish(&wrapping);
    return failed ? NULL : Py_NewRef(Py_None);
}

/* Return 1 for JSON data of exact types, 0 for anything else. */
static int is_plain(PyObject *value, int depth)
{
    if (PyUnicode_CheckExact(value) || value == Py_None || PyLong_CheckExact(value) || PyBool_Check(value) ||
        PyFloat_CheckExact(value))
        return 1;
    if (depth >= DEEPEST)
        return 0;
    if (PyList_CheckExact(value)) {
        for (Py_ssize_t at = 0; at < PyList_Size(value); at++)
            if (!is_plain(PyList_GetItem(value, at), depth + 1))
                return 0;
        return 1;
    }
    if (!PyDict_CheckExact(value))
        return 0;
    PyObject *key, *item;
    Py_ssize_t place = 0;
    while (PyDict_Next(value, &place, &key, &item))
        if (!PyUnicode_CheckExact(key) || !is_plain(item, depth + 1))
            return 0;
    return 1;
}

PyObject *native_is_plain(PyObject *Py_UNUSED(module), PyObject *value)
{
    return PyBool_FromLong(is_plain(value, 0));
}

/* Append a wrapped message with its fields to a list. Return -1 on failure. */
static int add_message(Wrapping *wrapping, PyObject *wrapped, PyObject *type, PyObject *message)
{
    PyObject *index = PyLong_FromSsize_t(PyList_Size(wrapped));
    PyObject *owner = index == NULL ? NULL : PyTuple_Pack(2, index, wrapping->path);
    PyObject *made = owner == NULL ? NULL : PyObject_CallFunctionObjArgs(type, message, NULL);
    int failed = made == NULL || !PyDict_Check(made);
    if (made != NULL && failed)
        PyErr_SetString(PyExc_TypeError, "the type of messages must be a subclass of dict");
    wrapping->message = index;
    failed = failed || PyObject_SetAttr(made, wrapping->owner_name, owner) < 0 || wrap_items(wrapping, made) < 0 ||
             PyList_Append(wrapped, made) < 0;
    if (owner != NULL)
        PyObject_GC_UnTrack(owner);
    Py_XDECREF(made);
    Py_XDECREF(owner);
    Py_XDECREF(index);
    return failed ? -1 : 0;
}

PyObject *native_wrap_messages(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *messages, *wrapped, *type, *types;
    if (!PyArg_ParseTuple(args, "O!O!O!O!:wrap_messages", &PyList_Type, &messages, &PyList_Type, &wrapped,
                          &PyType_Type, &type, &PyTuple_Type, &types))
        return NULL;
    Wrapping wrapping = {0};
    int failed = begin(&wrapping, types);
    wrapping.path = PyTuple_New(0);
    failed = failed || wrapping.path == NULL;
    while (!failed && PyList_Size(wrapped) < PyList_Size(messages)) {
        PyObject *message = Py_NewRef(PyList_GetItem(messages, PyList_Size(wrapped)));
        int done = !PyDict_CheckExact(message) || !is_plain(message, 0);
        failed = !done && add_message(&wrapping, wrapped, type, message) < 0;
        Py_DECREF(message);
        if (done)
            break;
    }
    Py_XDECREF(wrapping.path);
    finish(&wrapping);
    return failed ? NULL : Py_NewRef(Py_None);
}
