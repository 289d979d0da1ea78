"""`BridgeContext`: the template, tools and arguments that a bridge is proven with, and the proofs made with them."""

from __future__ import annotations

import hashlib
import weakref
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar, cast

from renderers.bridging.checked_run import CheckedRun
from renderers.bridging.message_kind import FieldRules
from renderers.core.bounded_table import BoundedTable
from renderers.core.jsontypes import JsonObject
from renderers.core.lazy import lazy
from renderers.core.literals import TextUses
from renderers.core.losses import Loss
from renderers.core.probe_words import PROBE_ARGUMENT
from renderers.core.probes import ASK, LEAD, TOOL
from renderers.core.spans import LabelledSpan, Path, Trace
from renderers.core.special_tokens import find_special_tokens
from renderers.core.text import compile_alternation
from renderers.core.tool_list import ToolList
from renderers.errors import TemplateLimitError
from renderers.probing.turn_format import TurnFormat
from renderers.programs.base import REJECTIONS, Program
from renderers.programs.input_formats import sample_argument
from renderers.rendering.pipeline import RenderedText, RenderPipeline, RunConversation
from renderers.tokenizer import ForeignTokenizer, LoadedTokenizer
from renderers.tokenizer.encoding.encode import cut_at_isolating_tokens, encode_text

_PROOFS_KEPT = 64
"""How many proofs of a context are kept at least: one for each kind of turn and new messages."""
_LONGEST_TOKEN = 256
"""The length of the longest special token in characters."""

Result = TypeVar("Result")
Scaffold = tuple[tuple[int, Path | str], ...]
"""The template text around bodies: the number of a message with a text, or with the path of a body."""
_PROOFS: BoundedTable[BoundedTable[Any]] = BoundedTable(keep=128)
"""The proofs of each context, by its key."""
_TABLES: weakref.WeakSet[BoundedTable[Any]] = weakref.WeakSet()
"""The same tables, and those that a context still uses."""
STAND_IN_TOOLS = ToolList([TOOL])
"""The tools of contexts in which turns do not depend on the tools. They are written faster than those of a caller."""
_ACCEPTED: BoundedTable[bool] = BoundedTable(keep=128)
"""Whether a template accepts the arguments of samples, by the key of their pipeline."""
_SMALLEST = [ASK], [LEAD, ASK]
"""Conversations of which a template accepts one."""
_CONTEXTS_KEPT = 8
"""How many contexts of a renderer are kept at least: one for each list of tools and arguments."""


def clear_proof_caches() -> None:
    """Drop all proofs of bridges, as in a new process."""
    _PROOFS.clear()
    _ACCEPTED.clear()
    for table in list(_TABLES):
        table.clear()


def hash_text(text: str) -> bytes:
    """Return a hash that stands for a text in a key, so that a cache does not keep long texts."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def pipeline_key(pipeline: RenderPipeline, *, with_tools: bool) -> Hashable:
    """Return everything that determines how a pipeline renders messages, except the content of the tools."""
    settings, vocab = pipeline.settings, pipeline.settings.tokenizer.vocab
    # Lists and long texts among the arguments are not in the probe key.
    key = pipeline.turn_format(with_tools=with_tools).key
    probed = key, repr(key.now), repr(sorted(pipeline.arguments.items()))
    return *probed, settings.content_tokens, settings.conventions, settings.prefill, settings.stop_texts, vocab.digest


def sample_pipeline(pipeline: RenderPipeline, *, with_tools: bool) -> RenderPipeline:
    """Return the pipeline to render sample conversations with: free text among the arguments is a probe word.

    The template only writes such a text, so samples hold for all of its values. The date is treated alike. Texts, lists
    and objects that cannot change turns are replaced, too, unless the template needs them.
    """
    key, arguments = pipeline.turn_format(with_tools=with_tools).key, pipeline.arguments
    free = {name: value for name, value in key.arguments if value == PROBE_ARGUMENT != arguments[name]}
    date = key.now if key.program.mentions("strftime_now") else pipeline.settings.date
    written = _with_samples(pipeline, arguments | free, date)
    stand_ins = _stand_ins(written.arguments, key.program)
    if not stand_ins:
        return written
    samples = _with_samples(pipeline, written.arguments | stand_ins, date)
    return samples if _accepts_arguments(samples, with_tools=with_tools) else written


def _with_samples(pipeline: RenderPipeline, arguments: dict[str, Any], date: datetime) -> RenderPipeline:
    if arguments == pipeline.arguments and date == pipeline.settings.date:
        return pipeline
    return pipeline.with_settings(chat_template_kwargs=arguments, date=date)


def _stand_ins(arguments: Mapping[str, Any], program: Program) -> dict[str, Any]:
    """Return values to render samples with in place of those that cannot change turns."""

    def is_replaced(name: str, value: Any) -> bool:
        if isinstance(value, str):
            # A text of the template is one of few values, such as "high".
            is_free = not program.may_write(value)
        else:
            is_free = isinstance(value, list | dict) and len(value) > 0
        return is_free and not program.turns_read(name)

    return {name: sample_argument(value) for name, value in arguments.items() if is_replaced(name, value)}


def _accepts_arguments(pipeline: RenderPipeline, *, with_tools: bool) -> bool:
    """Return True if a template accepts the arguments of a pipeline."""

    def run() -> bool:
        return any(_accepts(pipeline, messages, STAND_IN_TOOLS if with_tools else None) for messages in _SMALLEST)

    return _ACCEPTED.get(pipeline_key(pipeline, with_tools=with_tools), run)


def _accepts(pipeline: RenderPipeline, messages: list[JsonObject], tools: ToolList | None) -> bool:
    try:
        pipeline.run(messages, tools=tools, add_generation_prompt=True)
    except (*REJECTIONS, TemplateLimitError):
        return False
    return True


@dataclass(frozen=True)
class RenderedTurn:
    """A rendered conversation, and the index of the assistant message that a bridge follows."""

    rendered: RenderedText
    message: int
    special_tokens: frozenset[str]

    @property
    def trace(self) -> Trace:
        return self.rendered.trace

    @lazy
    def own_labels(self) -> list[LabelledSpan]:
        """The labelled spans of the turn."""
        return [label for label in self.rendered.labels if label.message == self.message]

    @lazy
    def end(self) -> int:
        """The offset at which the turn ends; 0 if it is not rendered."""
        return max((label.end for label in self.own_labels if label.sampled), default=0)

    def set_end(self, end: int) -> None:
        """Set the offset at which the turn ends, which is known from another run."""
        vars(self)["end"] = end

    def as_checked(self) -> CheckedRun | None:
        """Return the parts of the run to compare later runs with, once it was checked."""
        return CheckedRun.of(self.trace, turn=self.message, end=self.end, special_tokens=self.special_tokens)

    def losses(self) -> list[Loss]:
        """Return the losses of the messages after the turn."""
        return self.rendered.loss_finder(first=self.message + 1).losses()

    @lazy
    def stop(self) -> str:
        """The special token that ends the turn; empty if none does."""
        return self.stop_among(self.special_tokens)

    def stop_among(self, tokens: frozenset[str]) -> str:
        """Return the one of some tokens that ends the turn; empty if none does."""
        pattern, end = compile_alternation(tokens), self.end
        matches = pattern.finditer(self.trace.text, max(0, end - _LONGEST_TOKEN), end) if pattern else ()
        return next((match[0] for match in matches if match.end() == end), "")

    def scaffold(self) -> Scaffold:
        """Return the scaffold of the turn, of the message before it, and of everything after it.

        Bodies count by their place. Adjacent spans of the same field are one body.
        """
        text, end = self.trace.text, self.end
        entries: list[tuple[int, Path | str]] = []
        for start, stop, owner, path in self.trace.spans:
            if stop <= end and (owner not in (self.message - 1, self.message) or start == end):
                continue
            if not path:
                # A span that extends beyond the turn counts in both parts.
                pieces = (text[start:end], text[end:stop]) if start < end < stop else (text[start:stop],)
                entries += [(owner, piece) for piece in pieces]
            elif not entries or entries[-1] != (owner, path):
                entries.append((owner, path))
        return tuple(entries)

    def scaffold_digest(self) -> bytes:
        """Return a hash that stands for the scaffold in a proof, which is kept."""
        return hash_text(repr(self.scaffold()))


@dataclass(frozen=True)
class BridgeContext:
    """A pipeline and tools: all that a proof depends on apart from its messages. Equal ones share their proofs."""

    pipeline: RenderPipeline
    tools: list[JsonObject] | None
    header: str
    """The text that an assistant turn begins with."""
    exact: bool = False
    """True if samples are rendered with the arguments as they are, and not with probe words for free text."""

    @lazy
    def samples(self) -> RenderPipeline:
        """The pipeline that samples are rendered with."""
        return self.pipeline if self.exact else sample_pipeline(self.pipeline, with_tools=self.tools is not None)

    @lazy
    def _proofs(self) -> BoundedTable[Any]:
        tools = hash_text(repr(self.tools))
        key = pipeline_key(self.samples, with_tools=self.tools is not None), tools, self.header
        table = _PROOFS.get(key, lambda: BoundedTable(keep=_PROOFS_KEPT))
        _TABLES.add(table)
        return table

    @lazy
    def checked_runs(self) -> BoundedTable[list[CheckedRun]]:
        """The last run that was checked, if any, for each kind of turn and new messages."""
        return BoundedTable(keep=_PROOFS_KEPT)

    def remember(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """Return a result that depends on this context and on `key` alone, computed once."""
        return cast(Result, self._proofs.get(key, compute))

    def learn(self, probe: Callable[[BridgeContext], Result]) -> Result:
        """Return the result of a function that depends on this context alone, computed once."""
        return self.remember(probe, lambda: probe(self))

    def render(self, messages: Sequence[JsonObject], *, turn: int, prompt: bool) -> RenderedTurn:
        """Render a sample with these tools, with a generation prompt if `prompt` is True. Raises as `render` does."""
        rendered = self.samples.run(list(messages), tools=self.tools, add_generation_prompt=prompt)
        return RenderedTurn(rendered, turn, self.special_tokens)

    def render_actual(self, messages: Sequence[JsonObject], *, turn: int) -> RenderedTurn:
        """Render messages with the actual arguments, with a generation prompt. Raises as `render` does."""
        return RenderedTurn(self._run_actual(list(messages), self.tools), turn, self.special_tokens)

    @lazy
    def _run_actual(self) -> RunConversation:
        return self.pipeline.prepare(with_tools=self.tools is not None, add_generation_prompt=True)

    @lazy
    def exactly(self) -> BridgeContext:
        """The same context with samples that are rendered with the arguments as they are."""
        return self if self.samples is self.pipeline else replace(self, exact=True)

    @lazy
    def tokenizer(self) -> LoadedTokenizer | ForeignTokenizer:
        """The tokenizer of the pipeline."""
        return self.pipeline.settings.tokenizer

    @lazy
    def special_tokens(self) -> frozenset[str]:
        """The texts of the special tokens."""
        return self.tokenizer.vocab.reserved_texts

    def encode(self, text: str) -> list[int]:
        """Return the token ids of a text, without special tokens around it, as a render encodes them."""
        tokenizer = self.tokenizer
        cuts = cut_at_isolating_tokens(tokenizer, find_special_tokens(text, self.special_tokens))
        return encode_text(tokenizer, text, cuts).ids.tolist()

    @property
    def text_uses(self) -> TextUses:
        """How the template uses the texts of messages."""
        return self.turn_format.key.program.text_uses

    @lazy
    def field_rules(self) -> FieldRules:
        """The rules that reduce a new message to its kind."""
        program = self.turn_format.key.program
        given = {**self.tokenizer.special_tokens_map, **self.samples.arguments}
        arguments = {name: value for name, value in given.items() if program.mentions(name)}
        uses = self.text_uses
        literals = program.literals.among(uses.tested).with_texts(frozenset(_texts_in(arguments)))
        return FieldRules(program.readable_fields, literals, uses)

    @lazy
    def turn_format(self) -> TurnFormat:
        """The delimiters of turns with these tools."""
        return self.pipeline.turn_format(with_tools=self.tools is not None)


class BridgeContexts:
    """The contexts of a pipeline, one for each list of tools and arguments. Calls with the same tools share a list."""

    def __init__(self, pipeline: RenderPipeline) -> None:
        self._pipeline = pipeline
        self._contexts: BoundedTable[BridgeContext] = BoundedTable(keep=_CONTEXTS_KEPT)

    def get(self, tools: ToolList | None, header: str, arguments: Mapping[str, Any]) -> BridgeContext:
        """Return the context with some tools and with arguments that override those of the pipeline.

        `header` is the same for all.
        """
        if tools and not self._turns_read_tools:
            tools = STAND_IN_TOOLS
        # A context holds its list, so no other list has the same identity while it is kept.
        key = (id(tools), repr(sorted(arguments.items()))) if arguments else id(tools)
        return self._contexts.get(key, lambda: BridgeContext(self._with_arguments(arguments), tools, header))

    @lazy
    def _turns_read_tools(self) -> bool:
        return self._pipeline.program(with_tools=True).turns_read("tools")

    def _with_arguments(self, arguments: Mapping[str, Any]) -> RenderPipeline:
        if not arguments:
            return self._pipeline
        return self._pipeline.with_settings(chat_template_kwargs={**self._pipeline.arguments, **arguments})


def _texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list | tuple):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(item)
