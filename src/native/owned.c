/* Create texts with owners, and scopes of messages.

   `renderers.templating.values` and `renderers.templating.scopes` do the same in Python. The garbage collector need not
   visit these objects: a text refers to its owner, and a scope to its owner and to scopes around it. Attributes are
   slots, which run no Python code. */

#include "native.h"

/* Return a text of a subclass of str, without its attributes. */
static PyObject *text_of(PyObject *type, PyObject *text)
{
    if (!PyType_Check(type) || !PyType_IsSubtype((PyTypeObject *)type, &PyUnicode_Type)) {
        PyErr_SetString(PyExc_TypeError, "the type of texts must be a subclass of str");
        return NULL;
    }
    PyObject *arguments = text == NULL ? PyTuple_New(0) : PyTuple_Pack(1, text);
    newfunc create = (newfunc)PyType_GetSlot(&PyUnicode_Type, Py_tp_new);
    PyObject *made = arguments == NULL ? NULL : create((PyTypeObject *)type, arguments, NULL);
    Py_XDECREF(arguments);
    return made;
}

/* Return the object if no step failed, else NULL. */
static PyObject *finish_owned(PyObject *object, int failed)
{
    if (failed)
        Py_CLEAR(object);
    else if (PyObject_GC_IsTracked(object))
        PyObject_GC_UnTrack(object);
    return object;
}

PyObject *native_field_text(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyUnicode_Check(args[1]) || !PyUnicode_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "field_text takes a type, the name of an attribute, a text and an owner");
        return NULL;
    }
    PyObject *text = text_of(args[0], args[2]);
    return text == NULL ? NULL : finish_owned(text, PyObject_SetAttr(text, args[1], args[3]) < 0);
}

/* The items of `kinds`: the class of scopes, and the names of their attributes and of that of a message. */
enum { SCOPE, PARENT, OWNER, MESSAGE, MESSAGE_OWNER, KINDS };

static int fill_scope(PyObject *scope, PyObject *kinds, PyObject *outer, PyObject *message)
{
    PyObject *owner = PyObject_GetAttr(message, PyTuple_GetItem(kinds, MESSAGE_OWNER));
    int failed = owner == NULL;
    if (!failed && (!PyTuple_Check(owner) || PyTuple_Size(owner) != 2)) {
        PyErr_SetString(PyExc_TypeError, "an owner is a message and a path");
        failed = 1;
    }
    failed = failed || PyObject_SetAttr(scope, PyTuple_GetItem(kinds, PARENT), outer) < 0 ||
             PyObject_SetAttr(scope, PyTuple_GetItem(kinds, OWNER), owner) < 0 ||
             PyObject_SetAttr(scope, PyTuple_GetItem(kinds, MESSAGE), PyTuple_GetItem(owner, 0)) < 0;
    Py_XDECREF(owner);
    return failed;
}

PyObject *native_enter_message(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t count)
{
    if (count != 4 || !PyTuple_Check(args[0]) || PyTuple_Size(args[0]) != KINDS || !PyList_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "enter_message takes a tuple, a scope, a message and a list");
        return NULL;
    }
    PyObject *scope = text_of(PyTuple_GetItem(args[0], SCOPE), NULL);
    if (scope != NULL)
        scope = finish_owned(scope, fill_scope(scope, args[0], args[1], args[2]));
    if (scope != NULL && PyList_Append(args[3], scope) < 0)
        Py_CLEAR(scope);
    return scope;
}
