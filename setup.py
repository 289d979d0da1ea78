"""The compiled part of the package; everything else about it is in pyproject.toml."""

import os
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# What is in C is there in Python too. Without a global lock others may change a list while it is read.
PURE = bool(os.environ.get("RENDERERS_PURE_PYTHON") or sysconfig.get_config_var("Py_GIL_DISABLED"))
# Functions that are not exported can be inlined, and calls of Python skip a jump. MSVC exports nothing by default.
FLAGS = [] if os.name == "nt" else ["-fvisibility=hidden", "-fno-plt"]
NATIVE = Extension(
    "renderers.core._native",
    sorted(str(path) for path in Path("src/native").glob("*.c")),
    depends=sorted(str(path) for path in Path("src/native").glob("*.h")),
    extra_compile_args=FLAGS,
    py_limited_api=True,
    optional=True,
)

setup(
    ext_modules=[] if PURE else [NATIVE],
    options={} if PURE else {"bdist_wheel": {"py_limited_api": "cp311"}},
)
