"""`lazy`: a property that is computed once per object. `lazy_pattern`: a pattern that is compiled at its first use."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, overload

T = TypeVar("T")


class lazy(Generic[T]):  # noqa: N801 - a decorator, like `property`
    """Compute an attribute on first access and keep it in the object's `__dict__`.

    `functools.cached_property` holds one lock per descriptor on Python 3.11. A child that is forked while another
    thread holds it waits forever, on any object of the class. This one takes no lock: threads that race compute the
    value more than once, and all of them get the value that was stored first.

    >>> class Circle:
    ...     radius = 2
    ...     @lazy
    ...     def area(self) -> float:
    ...         return 3.14 * self.radius**2
    >>> circle = Circle()
    >>> circle.area, circle.__dict__
    (12.56, {'area': 12.56})
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[T]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> T: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[T] | T:
        if instance is None:
            return self
        # Faster than `vars`.
        value: T = instance.__dict__.setdefault(self._name, self._compute(instance))
        return value


class _LazyPattern:
    """The methods of a pattern, each kept in the `__dict__` after its first use."""

    def __init__(self, source: str, flags: int) -> None:
        self._source, self._flags = source, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return vars(self).setdefault(name, getattr(re.compile(self._source, self._flags), name))


def lazy_pattern(source: str, flags: int = 0) -> re.Pattern[str]:
    """Return a pattern with all methods of `re.Pattern` that is compiled when one of them is first used.

    For patterns of modules that most processes import and do not use: compiling one can take milliseconds.

    >>> lazy_pattern("[a-c]+").findall("abba, d")
    ['abba']
    """
    return cast("re.Pattern[str]", _LazyPattern(source, flags))
