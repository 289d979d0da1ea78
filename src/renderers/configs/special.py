"""The configs that name no family: found by the model, any template, and a class of the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

from pydantic import ConfigDict, model_validator

from renderers.configs.base import BaseRendererConfig

__all__ = ["AutoRendererConfig", "CustomRendererConfig", "DefaultRendererConfig"]


class AutoRendererConfig(BaseRendererConfig):
    """The family is found by the model's template and name."""

    name: Literal["auto"] = "auto"


class DefaultRendererConfig(BaseRendererConfig):
    """The model's own template, whatever its family; all other fields are given to the template.

    >>> DefaultRendererConfig(enable_thinking=False).model_extra
    {'enable_thinking': False}
    """

    model_config = ConfigDict(extra="allow")
    _internal_fields: ClassVar[frozenset[str]] = frozenset({"tool_parser", "reasoning_parser"})

    name: Literal["default"] = "default"
    tool_parser: str | None = None
    """The syntax that tool calls are read in; None for the one that the template writes."""
    reasoning_parser: str | None = None
    """How reasoning is read; None for the way that the template writes it."""

    if TYPE_CHECKING:  # Type checkers would refuse the free fields.

        def __init__(self, **fields: Any) -> None: ...


class CustomRendererConfig(BaseRendererConfig):
    """A renderer class of the caller's own; all other fields are those of the class's `config_class`.

    The class is loaded at once, so that a wrong path or a wrong field is found here.
    """

    model_config = ConfigDict(extra="allow")
    _internal_fields: ClassVar[frozenset[str]] = frozenset({"import_path"})

    name: Literal["custom"] = "custom"
    import_path: str
    """Where the class is: `package.module:Name`, `package.module.Name` or `path/to/file.py:Name`."""

    if TYPE_CHECKING:  # Type checkers would refuse the free fields.

        def __init__(self, **fields: Any) -> None: ...

    @model_validator(mode="after")
    def _has_the_fields_of_its_class(self) -> Self:
        # Only here, as the loader of classes imports these configs.
        from renderers.custom import custom_renderer_config

        custom_renderer_config(self)
        return self
