"""Special tokens are found alike in C and in Python."""

from __future__ import annotations

import gc
from array import array

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.core.native import COMPILED
from renderers.core.spans import TokenMatch
from renderers.core.special_tokens import find_in_python, find_special_tokens

needs_c = pytest.mark.skipif(not COMPILED, reason="the C extension was not built")
TOKENS = st.frozensets(st.text("<|ab>é\0", min_size=1, max_size=4), max_size=6)


@needs_c
@given(TOKENS, st.text("<|ab>é你\0", max_size=30))
@example(frozenset({"<a>", "<a><b>"}), "<a><a><b><a>")
@example(frozenset({"ab", "b"}), "abb")
@example(frozenset({"<a>"}), "\ud800<a>")
def test_special_tokens_are_found_alike_in_c_and_in_python(tokens: frozenset[str], text: str) -> None:
    found = find_special_tokens(text, tokens)
    assert found == find_in_python(text, tokens)
    assert all(type(match) is TokenMatch for match in found)


@needs_c
def test_the_garbage_collector_visits_no_special_tokens_and_no_spans_of_a_render() -> None:
    trace = create_renderer(load_tokenizer(EMBEDDED)).trace([{"role": "user", "content": "a<|end|>b"}])
    leaves = [*find_special_tokens(trace.text, frozenset({"<|end|>"})), *trace.spans]
    assert len(leaves) > 4
    assert not any(map(gc.is_tracked, leaves))


@needs_c
@given(
    nodes=st.lists(st.integers(-1, 9) | st.integers(-(2**31), 2**31 - 1), max_size=40),
    text=st.text("\0\1\2abc", max_size=12),
)
def test_a_trie_that_is_not_one_is_not_read_beyond_its_end(nodes: list[int], text: str) -> None:
    from renderers.core._native import find

    try:
        found = find(text, array("i", nodes), ("a", "b"), TokenMatch)
    except (ValueError, IndexError):
        return
    assert all(0 <= match.start < match.end <= len(text) for match in found)


@needs_c
def test_matches_have_to_be_tuples() -> None:
    from renderers.core._native import find

    with pytest.raises(TypeError, match="tuples"):
        find("a", array("i"), (), str)  # type: ignore[type-var]
