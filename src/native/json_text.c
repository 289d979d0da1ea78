/* Write JSON data as text, as `json.dumps(value, ensure_ascii=False)` does.

   `renderers.templating.tojson` calls the standard library if this extension was not built, or if it returns None.
   No Python code runs during the call, so the data cannot change. */

#include "native.h"

#include <string.h>

#define DEEPEST 100 /* deeper data is left to Python, which raises its own error */
#define LONGEST_ESCAPE 6
#define SHORT 64 /* longer texts are left to Python if they are not ASCII: encoding and decoding them takes longer */

typedef struct {
    char *bytes;
    size_t size;
    size_t room;
    PyObject *is_ascii; /* the method of `str`, as a subclass may have another */
} Buffer;

/* Make room for `more` bytes. Return 0 if there is no memory. */
static int reserve(Buffer *to, size_t more)
{
    if (more <= to->room - to->size)
        return 1;
    if (more > (size_t)PY_SSIZE_T_MAX / 4 || to->size > (size_t)PY_SSIZE_T_MAX / 4)
        return 0;
    size_t room = 2 * (to->size + more);
    char *bytes = PyMem_Realloc(to->bytes, room);
    if (bytes == NULL)
        return 0;
    to->bytes = bytes;
    to->room = room;
    return 1;
}

static int put(Buffer *to, const char *bytes, size_t size)
{
    if (!reserve(to, size))
        return 0;
    memcpy(to->bytes + to->size, bytes, size);
    to->size += size;
    return 1;
}

#define PUT(to, literal) put(to, literal, sizeof(literal) - 1)

/* Write the escape of a byte. There must be room for it. */
static void put_escape(Buffer *to, unsigned char byte)
{
    static const char digits[] = "0123456789abcdef";
    static const char named[] = "\"\\\n\r\t\f\b";
    static const char names[] = "\"\\nrtfb";
    char *at = to->bytes + to->size;
    const char *found = byte ? strchr(named, byte) : NULL;
    if (found != NULL) {
        at[0] = '\\';
        at[1] = names[found - named];
        to->size += 2;
        return;
    }
    memcpy(at, "\\u00", 4);
    at[4] = digits[byte >> 4];
    at[5] = digits[byte & 15];
    to->size += LONGEST_ESCAPE;
}

/* Return the place of the first byte from `at` on that JSON escapes, or `size`. */
static size_t find_escaped(const unsigned char *bytes, size_t size, size_t at)
{
    const uint64_t ones = 0x0101010101010101u, high = 0x8080808080808080u;
    for (; size - at >= 8; at += 8) {
        uint64_t word;
        memcpy(&word, bytes + at, 8);
        uint64_t quote = word ^ (ones * '"'), backslash = word ^ (ones * '\\');
        /* A subtraction sets the highest bit of a byte that is too small, unless it was set before. */
        uint64_t control = (word - ones * 0x20) & ~word;
        if ((control | ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash)) & high)
            break;
    }
    while (at < size && bytes[at] >= 0x20 && bytes[at] != '"' && bytes[at] != '\\')
        at++;
    return at;
}

/* Write bytes with quotes. Return 0 if there is no memory. */
static int put_quoted(Buffer *to, const char *bytes, size_t size)
{
    if (!reserve(to, size + size / 8 + 2) || !PUT(to, "\""))
        return 0;
    for (size_t start = 0;; start++) {
        size_t end = find_escaped((const unsigned char *)bytes, size, start);
        if (!put(to, bytes + start, end - start) || !reserve(to, LONGEST_ESCAPE))
            return 0;
        if (end == size)
            return PUT(to, "\"");
        put_escape(to, (unsigned char)bytes[end]);
        start = end;
    }
}

/* Write a text with quotes. Return 0 if it has no UTF-8, if there is no memory, or if it is left to Python. */
static int put_text(Buffer *to, PyObject *text)
{
    if (PyUnicode_GetLength(text) > SHORT) {
        PyObject *answer = PyObject_CallFunctionObjArgs(to->is_ascii, text, NULL);
        Py_XDECREF(answer);
        if (answer != Py_True)
            return 0;
        /* The UTF-8 of an ASCII text is the text itself. That of others would stay in memory. */
        Py_ssize_t size;
        const char *bytes = PyUnicode_AsUTF8AndSize(text, &size);
        return bytes != NULL && put_quoted(to, bytes, (size_t)size);
    }
    PyObject *encoded = PyUnicode_AsUTF8String(text);
    if (encoded == NULL)
        return 0;
    int done = put_quoted(to, PyBytes_AsString(encoded), (size_t)PyBytes_Size(encoded));
    Py_DECREF(encoded);
    return done;
}

/* Write a number as its own type does, not a subclass of it. */
static int put_number(Buffer *to, PyObject *number, PyTypeObject *type)
{
    reprfunc write = (reprfunc)PyType_GetSlot(type, Py_tp_repr);
    PyObject *text = write(number);
    if (text == NULL)
        return 0;
    PyObject *encoded = PyUnicode_AsUTF8String(text);
    Py_DECREF(text);
    if (encoded == NULL)
        return 0;
    int done = put(to, PyBytes_AsString(encoded), (size_t)PyBytes_Size(encoded));
    Py_DECREF(encoded);
    return done;
}

static int put_float(Buffer *to, PyObject *number)
{
    double value = PyFloat_AsDouble(number);
    if (value != value)
        return PUT(to, "NaN");
    if (value - value != 0)
        return value > 0 ? PUT(to, "Infinity") : PUT(to, "-Infinity");
    return put_number(to, number, &PyFloat_Type);
}

static int put_value(Buffer *to, PyObject *value, int depth);

static int put_dict(Buffer *to, PyObject *dict, int depth)
{
    PyObject *key, *value;
    Py_ssize_t place = 0;
    int is_first = 1;
    if (!PUT(to, "{"))
        return 0;
    while (PyDict_Next(dict, &place, &key, &value)) {
        if (!PyUnicode_Check(key) || (!is_first && !PUT(to, ", ")))
            return 0;
        if (!put_text(to, key) || !PUT(to, ": ") || !put_value(to, value, depth + 1))
            return 0;
        is_first = 0;
    }
    return PUT(to, "}");
}

static int put_list(Buffer *to, PyObject *list, int depth)
{
    if (!PUT(to, "["))
        return 0;
    for (Py_ssize_t at = 0; at < PyList_Size(list); at++) {
        if ((at > 0 && !PUT(to, ", ")) || !put_value(to, PyList_GetItem(list, at), depth + 1))
            return 0;
    }
    return PUT(to, "]");
}

/* Write a value. Return 0 if it is left to Python; there may be an exception then. */
static int put_value(Buffer *to, PyObject *value, int depth)
{
    if (PyUnicode_Check(value))
        return put_text(to, value);
    if (value == Py_None)
        return PUT(to, "null");
    if (value == Py_True)
        return PUT(to, "true");
    if (value == Py_False)
        return PUT(to, "false");
    if (PyLong_Check(value))
        return put_number(to, value, &PyLong_Type);
    if (PyFloat_Check(value))
        return put_float(to, value);
    if (depth >= DEEPEST)
        return 0;
    if (PyDict_Check(value))
        return put_dict(to, value, depth);
    return PyList_Check(value) && put_list(to, value, depth);
}

PyObject *native_json_text(PyObject *Py_UNUSED(module), PyObject *value)
{
    Buffer buffer = {NULL, 0, 0, PyObject_GetAttrString((PyObject *)&PyUnicode_Type, "isascii")};
    PyObject *text = NULL;
    if (buffer.is_ascii != NULL && put_value(&buffer, value, 0))
        text = PyUnicode_DecodeUTF8(buffer.bytes, (Py_ssize_t)buffer.size, NULL);
    PyMem_Free(buffer.bytes);
    Py_XDECREF(buffer.is_ascii);
    if (text != NULL)
        return text;
    PyErr_Clear();
    Py_RETURN_NONE;
}
