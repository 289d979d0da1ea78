"""`SettingAttribute`: a read-only attribute of a renderer with the value of a setting."""

from __future__ import annotations

from typing import Generic, NoReturn, Protocol, Self, TypeVar, overload

from renderers.settings import RendererSettings

T = TypeVar("T")


class HasSettings(Protocol):
    """An object with the settings of a renderer."""

    @property
    def settings(self) -> RendererSettings: ...


class SettingAttribute(Generic[T]):
    """A read-only attribute with the value of the setting of the same name."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, renderer: None, owner: type) -> Self: ...
    @overload
    def __get__(self, renderer: HasSettings, owner: type) -> T: ...
    def __get__(self, renderer: HasSettings | None, owner: type) -> Self | T:
        if renderer is None:
            return self
        value: T = getattr(renderer.settings, self._name)
        return value

    def __set__(self, renderer: HasSettings, value: object) -> NoReturn:
        raise AttributeError(f"{self._name} cannot be set: create another renderer")
