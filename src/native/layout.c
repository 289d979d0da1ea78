/* Verify how the interpreter keeps lists and ints in memory. */

#include "layout.h"

#define FIRST_KNOWN 0x030B0000u   /* 3.11 */
#define FIRST_UNKNOWN 0x030F0000u /* 3.15 */
#define LIST_SIZE 40
#define DIGIT_SIZE 4
#define DIGIT_BITS 30

Layout layout;

/* The first two are an int that all modules share, and one that they do not. */
static const long NUMBERS[] = {
    1, 1000, 255, 256, 257, 1L << 18, (1L << DIGIT_BITS) - 1, 0, -1, -5, -6, -1000, 1L << DIGIT_BITS,
};
static const Py_ssize_t COUNT = sizeof(NUMBERS) / sizeof(*NUMBERS);

static int is_known_release(void)
{
    PyObject *implementation = PySys_GetObject("implementation");
    PyObject *name = implementation == NULL ? NULL : PyObject_GetAttrString(implementation, "name");
    int is_cpython = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "cpython") == 0;
    Py_XDECREF(name);
    return is_cpython && Py_Version >= FIRST_KNOWN && Py_Version < FIRST_UNKNOWN;
}

/* Return 1 if an attribute of a type is a number. */
static int has_size(PyTypeObject *type, const char *attribute, long number)
{
    PyObject *size = PyObject_GetAttrString((PyObject *)type, attribute);
    int is_equal = size != NULL && PyLong_AsLong(size) == number;
    Py_XDECREF(size);
    return is_equal;
}

static PyObject *list_of_numbers(void)
{
    PyObject *numbers = PyList_New(COUNT);
    for (Py_ssize_t at = 0; numbers != NULL && at < COUNT; at++) {
        PyObject *number = PyLong_FromLong(NUMBERS[at]);
        if (number == NULL || PyList_SetItem(numbers, at, number) < 0)
            Py_CLEAR(numbers);
    }
    return numbers;
}

/* Return the layout if all numbers in a list are read as they are, else one that is not known. */
static Layout layout_of(PyObject *numbers)
{
    const Layout unknown = {0};
    Layout known = {.is_known = 1};
    PyObject *const *items = items_of_list(&known, numbers);
    for (int place = 0; place < 2; place++)
        memcpy(&known.forms[place], (const char *)PyList_GetItem(numbers, place) + FORM_PLACE, sizeof(uint64_t));
    for (Py_ssize_t at = 0; at < COUNT; at++) {
        uint32_t digit = 0;
        const int is_digit = NUMBERS[at] > 0 && NUMBERS[at] < 1L << DIGIT_BITS;
        if (items[at] != PyList_GetItem(numbers, at) || read_digit(&known, items[at], &digit) != is_digit ||
            (is_digit && digit != (uint32_t)NUMBERS[at]))
            return unknown;
    }
    return known;
}

void find_layout(int wanted)
{
    PyObject *numbers = NULL;
    layout = (Layout){0};
    if (wanted && sizeof(void *) == 8 && is_known_release() && has_size(&PyList_Type, "__basicsize__", LIST_SIZE) &&
        has_size(&PyLong_Type, "__basicsize__", DIGIT_PLACE) && has_size(&PyLong_Type, "__itemsize__", DIGIT_SIZE))
        numbers = list_of_numbers();
    if (numbers != NULL)
        layout = layout_of(numbers);
    Py_XDECREF(numbers);
    PyErr_Clear();
}

PyObject *native_find_layout(PyObject *Py_UNUSED(module), PyObject *wanted)
{
    int is_wanted = PyObject_IsTrue(wanted);
    if (is_wanted < 0)
        return NULL;
    find_layout(is_wanted);
    return Py_NewRef(layout.is_known ? Py_True : Py_False);
}
