"""Scan turns of Llama, in which a whole turn can be JSON objects that call tools."""

from __future__ import annotations

from renderers.core.completions import ToolCallParseStatus
from renderers.parsing.grammar import NO_EDGES
from renderers.parsing.scanner import MarkerTurn, Scanner, State
from renderers.parsing.tool_formats.llama import PYTHON_TAG, find_calls
from renderers.tokenizer.encoding.byte_text import UNKNOWN


def begin_llama_turn(scanner: Scanner) -> State:
    """Return the first state of a turn that is either calls without markers or a turn like any other."""
    python_tag = scanner.compiled.marker_text.mark(PYTHON_TAG)
    return MarkerTurn(scanner, openings=("{", python_tag), open_state=_in_bare_calls).in_start


def _in_bare_calls(turn: MarkerTurn, final: bool) -> bool:
    """Read calls without markers. All tokens are deferred until the turn ends."""
    scanner, compiled = turn.scanner, turn.compiled
    buffer, emitter, calls = scanner.buffer, scanner.emitter, scanner.calls
    stop = buffer.find(compiled.stop_markers)
    if stop is None and not final:
        buffer.defer(compiled.stop_markers)
        return False
    byte_text = buffer.byte_text
    start, end = buffer.skip_spaces(len(byte_text)), stop[0] if stop else len(byte_text)
    python_tag = compiled.marker_text.mark(PYTHON_TAG)
    if byte_text.startswith(python_tag, start):
        start += len(python_tag)
    # An id that is not a token can be anywhere, and is not part of the text.
    text = byte_text[start:end].replace(UNKNOWN, " ")
    bare_calls = find_calls(text, calls.schemas.names or (), decode=compiled.marker_text.decode)
    if bare_calls is None:
        turn.begin_first_content()
        return True
    for number, (first, last) in enumerate(bare_calls.spans, 1):
        _skip_unknown_tokens(scanner, start + first)
        calls.begin(start + first, start + first)
        while (unknown := byte_text.find(UNKNOWN, buffer.position, start + last)) >= 0:
            scanner.end_at(UNKNOWN, unknown, NO_EDGES)
        emitter.emit_text_to(start + last, closed=NO_EDGES)
        broken = None
        if bare_calls.broken and number == len(bare_calls.spans):
            broken = ToolCallParseStatus.INVALID_JSON if stop else ToolCallParseStatus.UNCLOSED_BLOCK
        calls.end(start + last, broken=broken)
    if bare_calls.broken and not stop:
        return False
    _skip_unknown_tokens(scanner, end)
    emitter.read_markers_to(end)
    turn.begin_after_calls()
    return True


def _skip_unknown_tokens(scanner: Scanner, end: int) -> None:
    """Skip ids that are not tokens, between markers, up to a position."""
    buffer = scanner.buffer
    while (position := buffer.byte_text.find(UNKNOWN, buffer.position, end)) >= 0:
        scanner.emitter.read_markers_to(position)
        scanner.skip_unknown_token(position)
