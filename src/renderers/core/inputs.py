"""Types of arguments that callers pass: messages, tools, token ids and tokenizers."""

from __future__ import annotations

import os
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import Field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, SupportsIndex, TypeAlias

from renderers.core.completions import ParsedResponse
from renderers.core.message_types import Message, Tool, ToolSpec

if TYPE_CHECKING:
    import tokenizers


class PydanticModel(Protocol):
    """An instance of a pydantic model, such as an object of the OpenAI SDK."""

    def model_dump(self) -> dict[str, Any]: ...


class DataclassInstance(Protocol):
    """An instance of a dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]


class PythonFunction(Protocol):
    """A function. A checker may not know that functions of several types in one list are callable."""

    @property
    def __name__(self) -> str: ...
    @property
    def __code__(self) -> types.CodeType: ...


class TokenizerMethods(Protocol):
    """The methods of a tokenizer that a renderer needs. `Tokenizer` also has the attributes that it can use."""

    def encode(self, text: str, /, *args: Any, **kwargs: Any) -> Any: ...
    def decode(self, token_ids: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def convert_tokens_to_ids(self, tokens: Any, /) -> Any: ...


MessageLike: TypeAlias = Message | Mapping[str, object] | ParsedResponse | PydanticModel | DataclassInstance
"""A message: a dict, a parsed response, a pydantic model or a dataclass."""

ToolLike: TypeAlias = (
    Tool
    | ToolSpec
    | Mapping[str, object]
    | Callable[..., object]
    | PythonFunction
    | PydanticModel
    | type[PydanticModel]
    | DataclassInstance
)
"""A tool: a dict, a function, a pydantic model or a dataclass."""

TokenIds: TypeAlias = Iterable[SupportsIndex]
"""Token ids: a list, an array or a tensor."""

TokenizerLike: TypeAlias = "str | os.PathLike[str] | TokenizerMethods | tokenizers.Tokenizer"
"""The name or the path of a model, or a tokenizer."""
