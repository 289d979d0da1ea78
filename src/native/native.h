/* The functions of the extension `renderers.core._native`. Each has a twin in Python that returns the same. */

#ifndef RENDERERS_NATIVE_H
#define RENDERERS_NATIVE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define VERSION 7 /* increased with every change of an interface */

PyObject *native_attribute(PyObject *module, PyObject *args);
PyObject *native_expand(PyObject *module, PyObject *args);
PyObject *native_find(PyObject *module, PyObject *args);
PyObject *native_find_invalid_id(PyObject *module, PyObject *ids);
PyObject *native_fill(PyObject *module, PyObject *args);
PyObject *native_join(PyObject *module, PyObject *args);
PyObject *native_locate(PyObject *module, PyObject *args);
PyObject *native_copy_json(PyObject *module, PyObject *args);
PyObject *native_same_json(PyObject *module, PyObject *args);
PyObject *native_json_text(PyObject *module, PyObject *value);
PyObject *native_is_plain(PyObject *module, PyObject *value);
PyObject *native_merge_parts(PyObject *module, PyObject *args);
PyObject *native_output_parts(PyObject *module, PyObject *args);
PyObject *native_written_fields(PyObject *module, PyObject *args);
PyObject *native_writes_all(PyObject *module, PyObject *args);
PyObject *native_wrap_contents(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
