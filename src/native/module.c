/* The table of functions of the extension `renderers.core._native`. */

#include "native.h"

static PyMethodDef methods[] = {
    {"fill", native_fill, METH_VARARGS,
     "fill(entries, texts, ends, markers): write the entries of a vocabulary into the table of `join`.\n\n"
     "`texts` are all texts, `ends` the end of each as uint32, `markers` the characters that stand for tokens."},
    {"join", native_join, METH_VARARGS,
     "join(ids, entries, texts, first): the joined text of ids, the position of each as uint64, and those of markers.\n\n"
     "Positions count from `first` on. If ids have no text, a list of these. `renderers.parsing.pieces` has the format."},
    {NULL, NULL, 0, NULL},
};

static int execute(PyObject *module)
{
    return PyModule_AddIntConstant(module, "VERSION", VERSION);
}

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_native",
    .m_methods = methods,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__native(void)
{
    return PyModuleDef_Init(&definition);
}
