/* Join lists of token ids to one that the garbage collector does not visit.

   `renderers.core.token_ids` does the same in Python, without the latter. */

#include "native.h"

PyObject *native_join_ids(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *prompt, *completion, *added;
    if (!PyArg_ParseTuple(args, "O!O!O!:join_ids", &PyList_Type, &prompt, &PyList_Type, &completion, &PyList_Type,
                          &added))
        return NULL;
    /* The sum of two lists has exactly the right size, so a long prompt is copied only once. */
    PyObject *rest = PySequence_Concat(completion, added);
    PyObject *all = rest == NULL ? NULL : PySequence_Concat(prompt, rest);
    Py_XDECREF(rest);
    if (all != NULL)
        /* It holds only numbers. Each visit of a long list would take as long as its copy. */
        PyObject_GC_UnTrack(all);
    return all;
}
