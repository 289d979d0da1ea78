"""The errors that this package raises on purpose.

Exception
└── OverlongPromptError           a prompt is longer than the model's context
OSError
└── TokenizerLoadError            a tokenizer cannot be loaded
    ├── TokenizerNotFoundError    there is no tokenizer under that name
    ├── TokenizerUnreachableError the hub did not answer, and the cache lacks a file
    ├── TokenizerFileError        a file is unreadable, broken, or contradicts another
    └── TokenizerCheckError       the built tokenizer contradicts its files
LookupError
└── UnknownFamilyError            there is no model family of that name
RuntimeError
├── RendererPoolError             a renderer of a pool cannot be created
├── RolloutError                  a rollout cannot do this in its present state
└── EngineError                   a request to an inference engine failed
    ├── EngineConnectionError     there is no connection, and nothing was sent
    ├── EngineTimeoutError        the engine did not respond in time
    ├── EngineDisconnectedError   the connection was lost after the request was sent
    ├── EngineStatusError         the engine refused the request, or failed
    └── EngineStreamError         a stream reported an error, or ended early
ValueError
├── UnknownSwitchError            a template argument that nothing reads; also a TypeError
├── MalformedGenerateResponseError the response of an engine cannot be used; also an EngineError
├── RolloutFileError              a file of rollouts cannot be read
├── UnencodableTextError          a text has no UTF-8 form
├── TokenIdError                  a number is not a token id
├── UnsupportedModelError         the chat template drops media that the model accepts
├── MessageError                  a message, tool or argument is invalid for every template
│   ├── ControlTextError          a message contains the text of a special token
│   ├── LossError                 the chat template does not write a message or a field
│   └── MediaError                a message contains media that are not processed
└── TemplateError                 a chat template cannot be rendered
    ├── TemplateMissingError      there is no template
    ├── TemplateSourceError       it does not compile
    ├── TemplateRefusalError      it rejects the messages with raise_exception
    ├── TemplateRunError          it fails on the messages
    ├── TemplateLimitError        it exceeds its limits
    └── TraceMismatchError        our run of the template differs from Jinja's (only with verify)
UserWarning
├── BrokenArgumentsWarning        the arguments of a tool call are not the JSON of an object
├── DefaultDateWarning            a prompt contains the default date
├── LossWarning                   the chat template does not write a field
├── MissingStopWarning            the last turn of a training sample has no stop token
├── MissingTokenWarning           a template writes a special token that a tokenizer object does not name
├── PromptMismatchWarning         a turn of a training sample does not follow its generation prompt
├── UnknownTemplateWarning        a template is not one of the templates of its family
├── UnreadSwitchWarning           a switch or an option is set that has no effect with the template
└── UnusedRewardWarning           a fork has a reward but no row
"""

from __future__ import annotations

from functools import partial


class TokenizerLoadError(OSError):
    """A tokenizer cannot be loaded. The text names the file and the remedy.

    `name` is the name that was passed to `load_tokenizer`. `file` is the broken file, or empty.

    >>> error = TokenizerFileError("is not JSON", name="org/model", file="tokenizer.json")
    >>> str(error), isinstance(error, OSError)
    ('org/model: tokenizer.json is not JSON', True)
    """

    def __init__(self, message: str, *, name: str = "", file: str = "") -> None:
        super().__init__(" ".join(filter(None, (name and f"{name}:", file, message))))
        self.name = name
        self.file = file


class TokenizerNotFoundError(TokenizerLoadError):
    """There are no files of a tokenizer under the name."""


class TokenizerUnreachableError(TokenizerLoadError):
    """The hub cannot be reached or failed, and the cache lacks a file. A later attempt may succeed."""


class TokenizerFileError(TokenizerLoadError):
    """A file cannot be read, is broken, or contradicts another file."""


class TokenizerCheckError(TokenizerLoadError):
    """The tokenizer was built, but contradicts its own files."""


class UnencodableTextError(ValueError):
    """The text contains a lone surrogate, so it has no UTF-8 form and no token ids."""

    @classmethod
    def at(cls, place: str, surrogate: str) -> UnencodableTextError:
        """Return the error for a surrogate. `place` is the subject of its sentence."""
        return cls(
            f"{place} is the lone surrogate U+{ord(surrogate):04X}, which has no UTF-8 form and so no token. "
            "Decode the source with the right encoding, or replace it with U+FFFD."
        )


class TokenIdError(ValueError):
    """A token id is negative or does not fit into 32 bits."""


class UnknownFamilyError(LookupError):
    """There is no model family and no known model of that name."""


class UnsupportedModelError(ValueError):
    """A model accepts media that its chat template drops."""


class UnknownSwitchError(TypeError, ValueError):
    """A template argument is neither a switch of the family, nor one for thinking, nor read by the chat template."""


class MissingStopWarning(UserWarning):
    """The last turn of a training sample has no stop token, so a model does not learn to end it."""


class PromptMismatchWarning(UserWarning):
    """The template does not write a turn of a training sample after the generation prompt that a model is sampled with.

    Turns without reasoning are the usual cause, if the prompt opens reasoning.
    """


class UnknownTemplateWarning(UserWarning):
    """The template is not one of the known templates of the family that the model's name or the config selects.

    A family without a verified template has no known templates.
    """


class BrokenArgumentsWarning(UserWarning):
    """The arguments of a tool call are text that is not the JSON of an object, and the template needs an object.

    The text says how the call is rendered instead. A renderer issues it once for each set of template arguments.
    """


class DefaultDateWarning(UserWarning):
    """The chat template writes the date, and no date was set, so the prompt has the default date, 26 July 2024.

    Each renderer issues it once. Pass `date=` to `create_renderer`, or `date_string` to the template of Llama 3.1.
    """


class MissingTokenWarning(UserWarning):
    """The chat template writes a special token, such as BOS, that the caller's tokenizer object does not name.

    The prompt is rendered without it. Set the attribute of the object, or set it to None if there is no such token.
    """


class UnreadSwitchWarning(UserWarning):
    """A switch or `prefill="kept"` is set, but has no effect with the chat template."""


class LossWarning(UserWarning):
    """The chat template writes nothing of a field, and `on_loss` of the renderer is `"warn"` for it."""


class OverlongPromptError(Exception):
    """A prompt is longer than the context of the model, so nothing was sampled.

    `prompt_len` and `max_prompt_len` are numbers of tokens, or None if the engine refused the prompt without them.

    >>> str(OverlongPromptError(prompt_len=9, max_prompt_len=8))
    'Prompt length (9) exceeds maximum context length (8).'
    """

    def __init__(
        self, message: str | None = None, *, prompt_len: int | None = None, max_prompt_len: int | None = None
    ) -> None:
        if message is None:
            message = f"Prompt length ({prompt_len}) exceeds maximum context length ({max_prompt_len})."
        super().__init__(message)
        self.prompt_len = prompt_len
        self.max_prompt_len = max_prompt_len


class EngineError(RuntimeError):
    """A request to an inference engine failed. `url` is the address of the request, or empty.

    >>> str(EngineConnectionError("connection refused", url="http://localhost:8000/generate"))
    'http://localhost:8000/generate: connection refused'
    """

    def __init__(self, message: str, *, url: str = "") -> None:
        super().__init__(f"{url}: {message}" if url else message)
        self.url = url


class EngineConnectionError(EngineError):
    """There is no connection to the engine. Nothing was sent, so the request can be sent again."""


class EngineTimeoutError(EngineError):
    """The engine did not respond in time. It may have sampled tokens."""


class EngineDisconnectedError(EngineError):
    """The connection was lost after the request was sent. The engine may have sampled tokens."""


class EngineStatusError(EngineError):
    """The engine responded with an HTTP status that is not a success. The text has the words of the server.

    `status` is the status, and `reason` the server's message. `retry_after` are the seconds that the server asks to
    wait, or None.

    >>> error = EngineStatusError("The model `x` does not exist.", status=404)
    >>> str(error), error.reason
    ('HTTP status 404: The model `x` does not exist.', 'The model `x` does not exist.')
    """

    def __init__(self, reason: str, *, url: str = "", status: int = 0, retry_after: float | None = None) -> None:
        super().__init__(f"HTTP status {status}: {reason}", url=url)
        self.reason = reason
        self.status = status
        self.retry_after = retry_after

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason,), {"args": self.args, **vars(self)}


class EngineStreamError(EngineError):
    """A stream reported an error, or ended before the completion did. The tokens so far are not a completion."""


class MalformedGenerateResponseError(ValueError, EngineError):
    """The response of an engine lacks a field, or has one that contradicts the sampled tokens. Names the field."""


class RolloutFileError(ValueError):
    """A file of rollouts is cut off or damaged, has another version, or is not a file of rollouts."""


class RolloutError(RuntimeError):
    """A rollout cannot do this in its present state: there is no client, no prompt, or a call is still running."""


class UnusedRewardWarning(UserWarning):
    """A fork of a rollout has a reward or an advantage, but no row: it sampled no turn."""


class RendererPoolError(RuntimeError):
    """The factory of a pool failed for renderer number `slot`. Its error is the cause."""

    def __init__(self, text: str, slot: int) -> None:
        super().__init__(text, slot)
        self.slot = slot

    def __str__(self) -> str:
        return str(self.args[0])


class MessageError(ValueError):
    """A message, tool or argument is invalid for every template. The text names the field and the fault.

    `message` is the index of the message, or None outside of messages. `path` is the path of the field. `is_new` is
    True if the index counts the new messages of a bridge.

    >>> str(MessageError("is a set, which is not JSON data", message=2, path=("content",)))
    'message 2: content is a set, which is not JSON data'
    """

    def __init__(
        self, fault: str, *, message: int | None = None, path: tuple[str | int, ...] = (), is_new: bool = False
    ) -> None:
        where = "" if message is None else f"{'new ' if is_new else ''}message {message}: "
        super().__init__(where + " ".join(filter(None, (".".join(map(str, path)), fault))))
        self.fault = fault
        self.message = message
        self.path = path
        self.is_new = is_new

    def __reduce__(self) -> tuple[object, ...]:
        # A batch adds the index of the item to `args`.
        state = {"args": self.args}
        return partial(type(self), self.fault, message=self.message, path=self.path, is_new=self.is_new), (), state


class ControlTextError(MessageError):
    """A field contains the text of a special token, and the renderer has `content_tokens="refuse"`."""

    @classmethod
    def at(cls, text: str, *, message: int, path: tuple[str | int, ...]) -> ControlTextError:
        """Return the error for a field. `message` is -1 outside of messages.

        >>> str(ControlTextError.at("<|end|>", message=0, path=("content",))).partition(",")[0]
        "message 0: content contains '<|end|>'"
        """
        return cls(
            f"contains {text!r}, which is a special token of this model. Remove it, or create the renderer with "
            'content_tokens="text" to encode it as text.',
            message=message if message >= 0 else None,
            path=path,
        )


class LossError(MessageError):
    """The chat template writes nothing of a message or a field, and `on_loss` of the renderer is `"error"` for it.

    `kind` is the kind of the input, as in `Loss.kind`.
    """

    def __init__(
        self,
        fault: str,
        *,
        message: int | None = None,
        path: tuple[str | int, ...] = (),
        is_new: bool = False,
        kind: str = "message",
    ) -> None:
        super().__init__(fault, message=message, path=path, is_new=is_new)
        if message is None and path:
            self.args = (f"the {path[0]} {fault}",)
        self.kind = kind

    def __reduce__(self) -> tuple[object, ...]:
        return *super().__reduce__()[:2], {"args": self.args, "kind": self.kind}


class MediaError(MessageError):
    """A message contains an image, a video or audio, which this package does not process."""

    @classmethod
    def at(cls, kind: str, *, message: int, part: int) -> MediaError:
        """Return the error for a content part.

        >>> str(MediaError.at("image", message=2, part=0)).partition(". ")[0]
        "message 2: content.0 is a part of type 'image', which this package does not process"
        """
        return cls(
            f"is a part of type {kind!r}, which this package does not process. Render with process_multimodal=False "
            "to get the placeholder of the chat template, and pass the data itself to the engine.",
            message=message,
            path=("content", part),
        )


class TemplateError(ValueError):
    """A chat template cannot be rendered. `message` is the index of the message it failed at, or None."""

    def __init__(self, text: str, message: int | None = None) -> None:
        super().__init__(text)
        self.message = message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (*self.args, self.message)


class TemplateMissingError(TemplateError):
    """Neither the tokenizer nor the caller provides a chat template."""


class TemplateSourceError(TemplateError):
    """The template does not compile."""


class TemplateRefusalError(TemplateError):
    """The template calls `raise_exception`. `reason` is its argument. A format in Python refuses messages alike.

    >>> print(TemplateRefusalError("Only user and assistant roles are supported!", message=1))
    the chat template refuses message 1: Only user and assistant roles are supported!
    >>> print(TemplateRefusalError("there is no tool call for this result", message=1, format_name="DeepSeek V3.2"))
    the format of DeepSeek V3.2 refuses message 1: there is no tool call for this result
    """

    def __init__(self, reason: str, message: int | None = None, *, format_name: str | None = None) -> None:
        refused = "these messages" if message is None else f"message {message}"
        source = "the chat template" if format_name is None else f"the format of {format_name}"
        super().__init__(f"{source} refuses {refused}: {reason}", message)
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.reason, self.message), {"args": self.args}


class TemplateRunError(TemplateError):
    """The template fails on these messages. The cause is attached."""


_LIMITS = {
    "bits": "makes a number of more than {most:,} bits",
    "characters": "processes more than {most:,} characters",
    "memory": "needs more memory than there is",
    "nesting": "has blocks or brackets that are too deeply nested",
    "range": "asks for a range of more than {most:,} numbers",
    "recursion": "recurses too deeply",
    "seconds": "takes more than {most:,} seconds",
    "source": "is longer than {most:,} characters",
    "steps": "takes more than {most:,} steps",
}


class TemplateLimitError(TemplateError):
    """The template exceeds one of its limits. `limit` names the resource, `most` is its bound if it has one.

    >>> print(TemplateLimitError("steps", 1000))
    the chat template takes more than 1,000 steps; if you trust the template, raise the limit with limits=
    """

    def __init__(self, limit: str, most: float | None = None, message: int | None = None) -> None:
        more = "" if most is None else "; if you trust the template, raise the limit with limits="
        super().__init__(f"the chat template {_LIMITS[limit].format(most=most)}{more}", message)
        self.limit = limit
        self.most = most

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.limit, self.most, self.message), {"args": self.args}


class TraceMismatchError(TemplateError):
    """Our run of a template and that of Jinja differ. This is a bug of this package."""
