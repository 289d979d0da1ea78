/* The functions of the extension `renderers.core._native`. Each has a twin in Python that returns the same. */

#ifndef RENDERERS_NATIVE_H
#define RENDERERS_NATIVE_H

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define VERSION 2 /* increased with every change of an interface */

PyObject *native_fill(PyObject *module, PyObject *args);
PyObject *native_join(PyObject *module, PyObject *args);

#endif
