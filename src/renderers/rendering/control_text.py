"""Tell the special tokens of the template from those in a caller's data."""

from __future__ import annotations

from renderers.core.native import native
from renderers.core.spans import Path, Span, TokenMatch, Trace
from renderers.core.text import compile_alternation


def find_injected(trace: Trace, tokens: list[TokenMatch]) -> list[tuple[TokenMatch, Span]]:
    """Return the tokens that are in a body, each with the span of its field.

    A body is data of the caller: message fields, tools and documents. A token that is only partly in a body counts.
    A token that the template composes of its own text and a role does not.

    >>> from renderers.core.special_tokens import find_special_tokens
    >>> trace = Trace("<a><b>", (Span(0, 3, 0, ()), Span(3, 6, 0, ("content",))))
    >>> find_injected(trace, find_special_tokens(trace.text, frozenset({"<a>", "<b>"})))
    [(TokenMatch(start=3, end=6, text='<b>'), Span(start=3, end=6, message=0, path=('content',)))]
    """
    injected = []
    # Nearly all tokens are inside one span of template text. This test is cheap.
    for token in touching_fields(trace.spans, tokens):
        body = _body_span(trace, token)
        if body is not None:
            injected.append((token, body))
    return injected


def touching_fields_in_python(spans: tuple[Span, ...], tokens: list[TokenMatch], /) -> list[TokenMatch]:
    """Return the tokens that are not inside one span of template text. Both must be in order.

    Raises:
        ValueError: A token begins after the last span.
    """
    touching = []
    following = iter(spans)
    span_end = 0
    path: Path = ()
    for token in tokens:
        start, end, _ = token
        while span_end <= start:
            span = next(following, None)
            if span is None:
                raise ValueError("tokens must be within the spans")
            _, span_end, _, path = span
        if path or span_end < end:
            touching.append(token)
    return touching


touching_fields = touching_fields_in_python if native is None else native.touching_fields


def find_template_tokens(trace: Trace, special_tokens: frozenset[str]) -> list[TokenMatch]:
    """Return the special tokens that the template wrote, ignoring those in bodies."""
    pattern = compile_alternation(special_tokens)
    tokens: list[TokenMatch] = []
    position = 0
    while pattern is not None and (match := pattern.search(trace.text, position)) is not None:
        token = TokenMatch(*match.span(), match[0])
        if _body_span(trace, token) is None:
            tokens.append(token)
            position = token.end
        else:
            # A token that starts inside this one may be the template's.
            position = token.start + 1
    return tokens


def _body_span(trace: Trace, token: TokenMatch) -> Span | None:
    """Return the span of the caller's data that a token is in; None for a token of the template."""
    spans = trace.spans_in(token.start, token.end)
    body = next((span for span in spans if _is_body(span, token)), None)
    return body or (spans[0] if all(span.path for span in spans) else None)


def _is_body(span: Span, token: TokenMatch) -> bool:
    if not span.path:
        return False
    if span.message < 0:
        return span.path[0] in ("tools", "documents")
    # A token may contain a whole role, but not a part of one.
    return span.path[0] != "role" or not token.start <= span.start < span.end <= token.end
