/* Find out whether JSON text can be decoded without further checks.

   `renderers.parsing.lenient_json` does the same in Python. No Python code runs during a call. */

#include "native.h"

/* Count brackets and escapes of code units in one pass that the compiler can turn into vector instructions. */
static int is_simple(const char *text, Py_ssize_t size, Py_ssize_t brackets)
{
    Py_ssize_t found = 0, at = 0;
    while (at < size) {
        /* The counters of a block fit in a byte. */
        const Py_ssize_t end = size - at < 240 ? size : at + 240;
        unsigned char opened = 0, escaped = 0;
        for (; at < end; at++) {
            /* `[` and `{` differ in one bit. A text ends with a zero byte. */
            opened += (text[at] | 0x20) == '{';
            escaped |= (text[at] == '\\') & (text[at + 1] == 'u');
        }
        found += opened;
        if (escaped || found > brackets)
            return 0;
    }
    return found <= brackets;
}

PyObject *native_is_simple_json(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *text;
    Py_ssize_t brackets, size;
    if (!PyArg_ParseTuple(args, "Un:is_simple_json", &text, &brackets))
        return NULL;
    const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
    if (bytes == NULL && PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) {
        /* It has a surrogate. */
        PyErr_Clear();
        Py_RETURN_FALSE;
    }
    if (bytes == NULL)
        return NULL;
    return PyBool_FromLong(size == PyUnicode_GetLength(text) && is_simple(bytes, size, brackets));
}
