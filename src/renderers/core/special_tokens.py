"""Find special tokens in a text."""

from __future__ import annotations

import functools
from array import array
from typing import NamedTuple

from renderers.core.native import native
from renderers.core.spans import TokenMatch
from renderers.core.text import compile_alternation


def find_special_tokens(text: str, special_tokens: frozenset[str]) -> list[TokenMatch]:
    """Return all special tokens in a text. Where several start, the longest one counts.

    >>> find_special_tokens("Hi<|end|>", frozenset({"<|end|>"}))
    [TokenMatch(start=2, end=9, text='<|end|>')]
    """
    if native is not None:
        trie = _token_trie(special_tokens)
        try:
            return native.find(text, trie.nodes, trie.tokens, TokenMatch)
        except UnicodeEncodeError:
            # A lone surrogate. Encoding the text raises an error with its place.
            pass
    return find_in_python(text, special_tokens)


def find_in_python(text: str, special_tokens: frozenset[str]) -> list[TokenMatch]:
    """Return the same as `find_special_tokens`, with a regular expression."""
    pattern = compile_alternation(special_tokens)
    return [] if pattern is None else [TokenMatch(*match.span(), match[0]) for match in pattern.finditer(text)]


class _TokenTrie(NamedTuple):
    nodes: array[int]
    """Four numbers for each node: its byte, its first child, its next sibling, and the token that ends with it."""
    tokens: tuple[str, ...]


@functools.lru_cache(maxsize=64)
def _token_trie(special_tokens: frozenset[str]) -> _TokenTrie:
    """Return the special tokens as a tree of their bytes, as the C extension reads it."""
    tokens = tuple(sorted(special_tokens))
    nodes = array("i", [0, 0, 0, 0])
    children: dict[tuple[int, int], int] = {}
    last_child: dict[int, int] = {}
    for number, token in enumerate(tokens):
        node = 0
        for byte in token.encode():
            child = children.get((node, byte))
            if child is None:
                child = children[node, byte] = len(nodes) // 4
                nodes.extend((byte, 0, 0, 0))
                if node in last_child:
                    nodes[4 * last_child[node] + 2] = child
                else:
                    nodes[4 * node + 1] = child
                last_child[node] = child
            node = child
        nodes[4 * node + 3] = number + 1
    return _TokenTrie(nodes, tokens)
