"""The errors that this package raises on purpose.

Exception
└── OverlongPromptError           a prompt is longer than the model's context
OSError
└── TokenizerLoadError            a tokenizer could not be loaded
    ├── TokenizerNotFoundError    nothing usable under that name
    ├── TokenizerUnreachableError the hub did not answer, and the cache does not do
    ├── TokenizerFileError        a file is unreadable, broken, or contradicts another
    └── TokenizerCheckError       the built tokenizer does not do what its files say
LookupError
└── UnknownFamilyError            no family of models has that name
RuntimeError
└── RendererPoolError             a renderer of a pool could not be made
ValueError
├── MalformedGenerateResponseError an engine's response to a generate request cannot be read
├── UnencodableTextError          text that no tokenizer can encode
├── TokenIdError                  a number that cannot be a token id
├── UnsupportedModelError         a model whose messages would lose something
├── MessageError                  a message, a tool or an argument that no template can take
│   ├── ControlTextError          control text in one of them, where that is refused
│   └── MediaError                an image, a video or audio that would have to be processed
└── TemplateError                 a chat template cannot give a text
    ├── TemplateMissingError      there is no template
    ├── TemplateSourceError       its text is not a template
    ├── TemplateRefusalError      it refuses these messages, in its own words
    ├── TemplateRunError          it fails on these messages
    ├── TemplateLimitError        it uses more than it may
    └── TraceMismatchError        a traced run gave another text than a plain one (only with verify)
UserWarning
├── UnknownTemplateWarning        a template is not one that the family of the name or the config is known for
└── UnreadSwitchWarning           a switch is set that the template does not read
"""

from __future__ import annotations

__all__ = [
    "ControlTextError",
    "MalformedGenerateResponseError",
    "MediaError",
    "MessageError",
    "OverlongPromptError",
    "RendererPoolError",
    "TemplateError",
    "TemplateLimitError",
    "TemplateMissingError",
    "TemplateRefusalError",
    "TemplateRunError",
    "TemplateSourceError",
    "TokenIdError",
    "TokenizerCheckError",
    "TokenizerFileError",
    "TokenizerLoadError",
    "TokenizerNotFoundError",
    "TokenizerUnreachableError",
    "TraceMismatchError",
    "UnencodableTextError",
    "UnknownFamilyError",
    "UnknownTemplateWarning",
    "UnreadSwitchWarning",
    "UnsupportedModelError",
]


class TokenizerLoadError(OSError):
    """A tokenizer could not be loaded; the message says which file and what to do.

    `name` is what the caller asked for, `file` the file at fault where there is one.

    >>> error = TokenizerFileError("is not JSON", name="org/model", file="tokenizer.json")
    >>> str(error), isinstance(error, OSError)
    ('org/model: tokenizer.json is not JSON', True)
    """

    def __init__(self, message: str, *, name: str = "", file: str = "") -> None:
        where = " ".join(part for part in (f"{name}:" if name else "", file) if part)
        super().__init__(f"{where} {message}" if where else message)
        self.name = name
        self.file = file


class TokenizerNotFoundError(TokenizerLoadError):
    """Nothing from which a tokenizer can be built was found under the name."""


class TokenizerUnreachableError(TokenizerLoadError):
    """The hub could not be reached or failed, and the cache lacks what was asked for; later it may work."""


class TokenizerFileError(TokenizerLoadError):
    """A file cannot be read, is broken, or contradicts another file beside it."""


class TokenizerCheckError(TokenizerLoadError):
    """The tokenizer was built, but does not do what its own files promise."""


class UnencodableTextError(ValueError):
    """The text holds a lone surrogate, so it has no UTF-8 form and no token ids."""

    @classmethod
    def at(cls, place: str, surrogate: str) -> UnencodableTextError:
        """Returns the error for a surrogate at a place, which is the subject of its sentence."""
        return cls(
            f"{place} is the lone surrogate U+{ord(surrogate):04X}, which has no UTF-8 form and so no token. "
            "Decode the source with the right encoding, or replace it with U+FFFD."
        )


class TokenIdError(ValueError):
    """A token id is negative or does not fit a token id's 32 bits."""


class UnknownFamilyError(LookupError):
    """Neither a family of models nor a model of one has that name."""


class UnsupportedModelError(ValueError):
    """A model takes what its chat template has no place for."""


class UnknownTemplateWarning(UserWarning):
    """A template is run that the family of the model's name is not known for, or that is not of the config's family.

    A family of which no template was at hand is known for none.
    """


class UnreadSwitchWarning(UserWarning):
    """A switch of the family is set, and the template that is run does not read it: it changes no render."""


class OverlongPromptError(Exception):
    """A prompt is longer than the context of the model that it is for, so no request is sent."""


class MalformedGenerateResponseError(ValueError):
    """The response of an engine to a generate request lacks a field or has one of the wrong type."""


class RendererPoolError(RuntimeError):
    """The factory of a pool failed at the renderer number `slot`; its own error is the cause."""

    def __init__(self, text: str, slot: int) -> None:
        super().__init__(text, slot)
        self.slot = slot

    def __str__(self) -> str:
        return str(self.args[0])


class MessageError(ValueError):
    """What a caller gave cannot be rendered by any template; the text says where it is, and what is wrong with it.

    `message` is the message's number, None for what is not in a message; `path` leads to the fault.

    >>> str(MessageError("is a set, which is not JSON data", message=2, path=("content",)))
    'message 2: content is a set, which is not JSON data'
    """

    def __init__(self, fault: str, *, message: int | None = None, path: tuple[str | int, ...] = ()) -> None:
        where = "" if message is None else f"message {message}: "
        super().__init__(where + " ".join([*filter(None, [".".join(map(str, path))]), fault]))
        self.fault = fault
        self.message = message
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild_message_error, (type(self), self.fault, self.message, self.path)


def _rebuild_message_error(
    kind: type[MessageError], fault: str, message: int | None, path: tuple[str | int, ...]
) -> MessageError:
    return kind(fault, message=message, path=path)


class ControlTextError(MessageError):
    """A body holds the text of a control token, and the renderer was told to refuse that."""

    @classmethod
    def at(cls, text: str, *, message: int, path: tuple[str | int, ...]) -> ControlTextError:
        """Returns the error for a control text in a field; -1 for what is not in a message.

        >>> str(ControlTextError.at("<|end|>", message=0, path=("content",))).partition(",")[0]
        "message 0: content has '<|end|>' in it"
        """
        return cls(
            f"has {text!r} in it, which this model reads as a control token: take it out, or let it be read as text "
            'with content_tokens="text"',
            message=message if message >= 0 else None,
            path=path,
        )


class MediaError(MessageError):
    """A message holds an image, a video or audio, which nothing here turns into what a model takes in."""

    @classmethod
    def at(cls, kind: str, *, message: int, part: int) -> MediaError:
        """Returns the error for a content part.

        >>> str(MediaError.at("image", message=2, part=0)).partition(":")[2].partition(":")[0]
        " content.0 is a part of type 'image', which is not processed here"
        """
        return cls(
            f"is a part of type {kind!r}, which is not processed here: render with process_multimodal=False to have "
            "the placeholder that the chat template writes for it, and give the data itself to the engine",
            message=message,
            path=("content", part),
        )


class TemplateError(ValueError):
    """A chat template gave no text. `message` is the number of the message that it was at, where that is known."""

    def __init__(self, text: str, message: int | None = None) -> None:
        super().__init__(text)
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (*self.args, self.message)


class TemplateMissingError(TemplateError):
    """Neither the tokenizer nor the caller has a chat template."""


class TemplateSourceError(TemplateError):
    """The text is not a template that can be compiled."""


class TemplateRefusalError(TemplateError):
    """The template calls `raise_exception`; `reason` is what it says.

    >>> print(TemplateRefusalError("Only user and assistant roles are supported!", message=1))
    the chat template refuses message 1: Only user and assistant roles are supported!
    """

    def __init__(self, reason: str, message: int | None = None) -> None:
        what = "these messages" if message is None else f"message {message}"
        super().__init__(f"the chat template refuses {what}: {reason}", message)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.message)


class TemplateRunError(TemplateError):
    """The template fails on these messages, for a reason that it did not foresee; the cause is attached."""


_LIMITS = {
    "bits": "makes a number of more than {most:,} bits",
    "characters": "makes more than {most:,} characters",
    "memory": "needs more memory than there is",
    "nesting": "has blocks or brackets that are too deeply nested",
    "range": "asks for a range of more than {most:,} numbers",
    "recursion": "calls itself too often",
    "seconds": "takes more than {most:,} seconds",
    "source": "is longer than {most:,} characters",
    "steps": "takes more than {most:,} steps",
}


class TemplateLimitError(TemplateError):
    """The template uses more than it may; `limit` says of what, `most` how much that is where it is a number.

    >>> print(TemplateLimitError("steps", 1000))
    the chat template takes more than 1,000 steps; a template that you trust may be given more with limits=
    """

    def __init__(self, limit: str, most: float | None = None, message: int | None = None) -> None:
        more = "" if most is None else "; a template that you trust may be given more with limits="
        super().__init__(f"the chat template {_LIMITS[limit].format(most=most)}{more}", message)
        self.limit = limit
        self.most = most

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.limit, self.most, self.message)


class TraceMismatchError(TemplateError):
    """A traced run and a plain run of the same template differ, which is a fault of this package."""
