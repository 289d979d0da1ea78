"""A grammar in a vocabulary: which marks mean something in which state."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from renderers.core.patterns import compile_alternation
from renderers.parse.grammar import Grammar
from renderers.parse.lexicon import Lexicon, LexiconTokenizer
from renderers.parse.syntax import SYNTAXES, Syntax
from renderers.parse.syntax.harmony import CALL_END, CHANNEL, END, MESSAGE, START
from renderers.parse.syntax.llama import PYTHON_TAG
from renderers.tokenizer.wire import UNKNOWN

__all__ = ["MessageMarks", "Tables", "Watch", "markers_within", "tables_for"]


@dataclass(frozen=True, slots=True)
class Watch:
    """Marks that are looked for."""

    marks: tuple[str, ...]
    texts: tuple[str, ...]
    """Those of them that are more than one character, and may be cut in two."""
    longest: int
    in_ascii: bool
    """Whether any of them can be in ASCII text."""

    @classmethod
    def of(cls, *marks: str) -> Watch:
        """Returns a watch for some marks; empty ones are none."""
        wanted = tuple(sorted({*marks} - {""}))
        texts = tuple(mark for mark in wanted if len(mark) > 1)
        return cls(wanted, texts, max(map(len, wanted), default=1), any(map(str.isascii, wanted)))

    def within(self, text: str) -> bool:
        """Says whether any of the marks is in a text."""
        return any(mark in text for mark in self.marks)

    def end_of(self, text: str) -> str:
        """Returns as much of the end of a text as can be the beginning of a mark."""
        return text[max(0, len(text) - self.longest + 1) :]

    def begun(self, wire: str, at: int) -> int:
        """Returns how many characters at the end of a text, from `at` on, may be the beginning of a mark."""
        if not self.texts:
            return 0
        for size in range(min(self.longest - 1, len(wire) - at), 0, -1):
            if any(mark.startswith(wire[-size:]) for mark in self.texts):
                return size
        return 0


@dataclass(frozen=True, slots=True)
class MessageMarks:
    """The marks of a turn that is several messages."""

    message: str
    """What stands between a header and its message."""
    ends: frozenset[str]
    """What ends a message."""
    all: Watch
    begins: Watch
    """What a header may begin with."""
    header: Watch
    """What ends a header."""
    body: Watch
    """What ends a message, or begins another."""

    @classmethod
    def of(cls, lexicon: Lexicon) -> MessageMarks:
        """Returns the marks as they are in a vocabulary."""
        start, channel, message, *ends = map(lexicon.mark, (START, CHANNEL, MESSAGE, END, CALL_END))
        others = (*lexicon.stops, UNKNOWN)
        return cls(
            message=message,
            ends=frozenset(ends),
            all=Watch.of(start, channel, message, *ends),
            begins=Watch.of(start, channel),
            header=Watch.of(message, *others),
            body=Watch.of(start, channel, *ends, *others),
        )


class Tables:
    """What a scanner looks for. Nothing about it changes, so any number of scanners share it."""

    def __init__(self, grammar: Grammar, lexicon: Lexicon) -> None:
        self.grammar = grammar
        self.lexicon = lexicon
        self.syntax: Syntax | None = SYNTAXES[grammar.tools] if grammar.tools else None
        mark = lexicon.mark
        self.header = lexicon.marked(grammar.header)
        self.think, self.think_end = map(mark, grammar.reasoning.markers) if grammar.reasoning else ("", "")
        self.section, self.section_end = map(mark, grammar.section or ("", ""))
        self.call, self.call_end = map(mark, grammar.call or ("", ""))
        self.code = mark(PYTHON_TAG) if self.syntax and self.syntax.bare else ""
        self.starts = tuple(filter(None, (self.header, self.think, self.think_end)))
        """What a turn may begin with that is neither text nor a call."""
        self.longest_start = max(map(len, (*self.starts, self.code)))
        ends = {*lexicon.stops, UNKNOWN}
        # A call outside of its section is one all the same if it begins with a token.
        alone = grammar.call and (not grammar.section or lexicon.is_token(grammar.call[0]))
        self.openers = frozenset({self.section, self.call if alone else ""}) - {""}
        doubts = self.openers if self.syntax and self.syntax.ends_reasoning else ()
        self.reasoning = Watch.of(*ends, self.think, self.think_end)
        self.doubtful = Watch.of(*ends, self.think, self.think_end, *doubts)
        self.decides = Watch.of(*lexicon.stops, self.think_end)
        self.content = Watch.of(*ends, *self.openers)
        self.calls = Watch.of(*ends, self.call, self.section_end)
        self.within_call = Watch.of(*ends, self.call_end, self.section_end)
        self.stops = Watch.of(*lexicon.stops)
        self.messages = MessageMarks.of(lexicon) if self.syntax and self.syntax.by_message else None
        self.assumed = [self.think] if grammar.assumes_reasoning else []
        """What is taken to stand before a completion whose prompt is not given."""


def markers_within(grammar: Grammar) -> frozenset[str]:
    """Returns all markers that stand within a turn."""
    syntax = SYNTAXES[grammar.tools] if grammar.tools else None
    reasoning = grammar.reasoning.markers if grammar.reasoning else ()
    return frozenset({*reasoning, *(grammar.section or ()), *(grammar.call or ()), *(syntax.inner if syntax else ())})


def tables_for(grammar: Grammar, tokenizer: _Tokenizer, *, stops: Iterable[int]) -> Tables:
    """Returns the tables of a grammar for a tokenizer, and the tokens that end a turn."""
    within = markers_within(grammar)
    reserved = compile_alternation(tokenizer.reserved_texts)
    header = frozenset(reserved.findall(grammar.header)) if reserved else frozenset()
    return Tables(grammar, Lexicon(tokenizer, marks=[*sorted(within), *sorted(header)], stops=sorted(stops)))


class _Tokenizer(LexiconTokenizer, Protocol):
    @property
    def reserved_texts(self) -> frozenset[str]: ...
