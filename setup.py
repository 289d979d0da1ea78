"""The compiled part of the package; everything else about it is in pyproject.toml."""

import sysconfig

from setuptools import Extension, setup

FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))

setup(
    # What it does is also there in Python, so a machine without a compiler can do without. So does Python without its
    # global lock: there others may change a list while it is read.
    ext_modules=[]
    if FREE_THREADED
    else [Extension("renderers.parse._join", ["src/renderers/parse/_join.c"], py_limited_api=True, optional=True)],
    options={} if FREE_THREADED else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
