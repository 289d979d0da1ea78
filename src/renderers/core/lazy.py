"""`lazy`: a property that is computed once per object, safe across threads and `fork`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

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
        value: T = vars(instance).setdefault(self._name, self._compute(instance))
        return value
