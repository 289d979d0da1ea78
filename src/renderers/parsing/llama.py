"""Scan turns of Llama, in which a whole turn can be JSON objects that call tools."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from renderers.core.completions import ToolCallParseStatus
from renderers.parsing.compiled import CompiledGrammar
from renderers.parsing.grammar import NO_EDGES
from renderers.parsing.pieces import NO_PIECES, Pieces
from renderers.parsing.scanner import MarkerScanner
from renderers.parsing.tool_formats.llama import find_calls
from renderers.tokenizer.encoding.byte_text import UNKNOWN


class BareCallScanner(MarkerScanner):
    """Scan a turn that is either calls without markers or a turn like any other."""

    def __init__(self, compiled: CompiledGrammar, tools: Sequence[Any] | None, *, prefill: Pieces = NO_PIECES) -> None:
        super().__init__(compiled, tools, prefill=prefill)
        (self._python_tag,) = compiled.inner
        self.openings = ("{", self._python_tag)

    def in_opening(self, final: bool) -> bool:
        """Read calls without markers. All tokens are deferred until the turn ends."""
        buffer, emitter, compiled = self.buffer, self.emitter, self.compiled
        stop = buffer.find(compiled.stop_markers)
        if stop is None and not final:
            buffer.defer(compiled.stop_markers)
            return False
        byte_text = buffer.byte_text
        start, end = buffer.skip_spaces(len(byte_text)), stop[0] if stop else len(byte_text)
        if byte_text.startswith(self._python_tag, start):
            start += len(self._python_tag)
        # An id that is not a token can be anywhere, and is not part of the text.
        text = byte_text[start:end].replace(UNKNOWN, " ")
        bare_calls = find_calls(text, self.calls.schemas, decode=compiled.marker_text.decode)
        if bare_calls is None:
            self.begin_content(compiled.first_content)
            return True
        cut_off = ToolCallParseStatus.INVALID_JSON if stop else ToolCallParseStatus.UNCLOSED_BLOCK
        for number, (first, last) in enumerate(bare_calls.spans, 1):
            self._skip_unknown_tokens(start + first)
            self.calls.begin(start + first, start + first)
            while (unknown := byte_text.find(UNKNOWN, buffer.position, start + last)) >= 0:
                self.skip_unknown_token(unknown)
            emitter.emit_text_to(start + last, closed=NO_EDGES)
            broken = bare_calls.broken and number == len(bare_calls.spans)
            self.calls.end(start + last, broken=cut_off if broken else None)
        if bare_calls.broken and not stop:
            return False
        self._skip_unknown_tokens(end)
        emitter.read_markers_to(end)
        self.begin_content(compiled.after_calls)
        return True

    def _skip_unknown_tokens(self, end: int) -> None:
        """Skip ids that are not tokens, between markers, up to a position."""
        buffer = self.buffer
        while (position := buffer.byte_text.find(UNKNOWN, buffer.position, end)) >= 0:
            self.emitter.read_markers_to(position)
            self.skip_unknown_token(position)
