/* The table of functions of the extension `renderers.core._native`. */

#include "native.h"

static PyMethodDef methods[] = {
    {"join", native_join, METH_VARARGS,
     "join(ids, texts, spans): the joined text of ids and the start of each as uint64. None if an id is invalid.\n\n"
     "`texts` are the texts of the vocabulary as uint16, `spans` the start and the end of each as uint32."},
    {"copy_json", native_copy_json, METH_VARARGS,
     "copy_json(value, depth): a copy of JSON data of exact types; NotImplemented if it is not, or is too deep."},
    {"same_json", native_same_json, METH_VARARGS,
     "same_json(value, plain): True if a value is the same as JSON data of exact types, with keys in the same order."},
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
