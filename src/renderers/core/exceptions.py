"""Copy exceptions."""

from __future__ import annotations

import contextlib
import copy
import inspect


def copy_exception(error: Exception) -> Exception:
    """Return a copy of an exception with its arguments, attributes and notes, without its traceback and cause.

    The constructor is not called, because it may take other arguments than `args`.

    >>> error = FileNotFoundError(2, "no such file", "model.json")
    >>> copied = copy_exception(error)
    >>> str(copied) == str(error), copied.filename, copied is error
    (True, 'model.json', False)
    """
    kind = type(error)
    try:
        copied = kind.__new__(kind, *error.args)
    except TypeError:
        # Such as a class in Rust, which defines how its instances are copied.
        copied = copy.copy(error)
    for parent in kind.__mro__:
        for name, value in vars(parent).items():
            is_stored = inspect.ismemberdescriptor(value) or inspect.isgetsetdescriptor(value)
            if is_stored and not name.startswith("__"):
                # Some attributes have no value, and some are read-only, because `__new__` sets them.
                with contextlib.suppress(AttributeError):
                    content = value.__get__(error)
                    # None stands for an attribute without a value, which is not the same for `filename2`.
                    if content is not None or parent is not OSError:
                        value.__set__(copied, content)
    vars(copied).update(vars(error))
    if hasattr(error, "__notes__"):
        copied.__notes__ = list(error.__notes__)
    return copied
