/* The table of functions of the extension `renderers.core._native`. */

#include "native.h"

static PyMethodDef methods[] = {
    {"join", native_join, METH_VARARGS,
     "join(ids, texts, spans): the joined text of ids and the start of each as uint64. None if an id is invalid.\n\n"
     "`texts` are the texts of the vocabulary as uint16, `spans` the start and the end of each as uint32."},
    {"json_text", native_json_text, METH_O,
     "json_text(value): the text of `json.dumps(value, ensure_ascii=False)`. None if Python has to write it."},
    {"is_plain", native_is_plain, METH_O,
     "is_plain(value): True if a value is JSON data of exact types, and not too deep."},
    {"wrap_contents", (PyCFunction)(void (*)(void))native_wrap_contents, METH_FASTCALL,
     "wrap_contents(container, message, path, types): wrap the items of a dict or a list in place.\n\n"
     "`types` are those for texts, integers, floats, dicts and lists."},
    {"output_parts", native_output_parts, METH_VARARGS,
     "output_parts(pieces, root, types): the ends and the owners of the parts of an output, the indices of parts with\n"
     "a scope instead of an owner, and the index of the part that opens the first turn, or -1.\n\n"
     "`types` are those of scopes, of branches and of texts of one field."},
    {"merge_parts", native_merge_parts, METH_VARARGS,
     "merge_parts(ends, owners, message, type): the spans of parts. Those without an owner belong to the message before\n"
     "them, at first to `message`."},
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
