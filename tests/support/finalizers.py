"""Call a function in C while finalizers change its arguments: `python -m tests.support.finalizers join`.

Up to Python 3.11, any allocation of a container can collect garbage. A finalizer that runs then can change every list
that the function reads.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import itertools
import sys
from array import array
from collections.abc import Callable
from typing import Any

from renderers.core.completions import ParsedPart, Region
from renderers.core.messages import _KEYS
from renderers.core.native import native
from renderers.core.spans import Span
from renderers.rendering import loss_check
from renderers.templating import scopes, wrapping
from renderers.templating.texts import field_text

_ALLOCATIONS = 60
"""A collection is tried at each of so many allocations after the beginning of a call."""

Call = tuple[Callable[..., Any], list[Any], list[Any]]
"""A function, its arguments, and the containers that a finalizer changes."""


class Finalizer:
    """Garbage that changes containers when it is collected: of a list, some items are kept."""

    def __init__(self, containers: list[Any], *, kept: int) -> None:
        self.containers, self.kept, self.itself = containers, kept, self

    def __del__(self) -> None:
        for container in self.containers:
            if isinstance(container, array):
                container[:] = array(container.typecode, [2**31 - 1] * len(container))
            elif isinstance(container, list):
                del container[self.kept :]
            else:
                container.clear()


def _numbers(count: int) -> list[int]:
    """Return ints that only the list refers to."""
    return [int(f"1{number:06}") for number in range(count)]


def _join() -> Call:
    # A long text makes the buffer grow before the list is changed.
    entry = b"\xff" + bytes(7) + (4_000).to_bytes(4, sys.byteorder) + bytes(4)
    # The negative number, whose error is a container, is the last id of a block of 64.
    ids = [0, 0, *_numbers(61), -int("9" * 40), *_numbers(90)]
    return native.join, [ids, entry, b"a" * 4_000, 0], [ids]


@functools.cache
def _block() -> Any:
    """Return a compiled vocabulary of the single bytes."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    from renderers.tokenizer.compiled.compile import compile_vocabulary
    from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS

    backend = Tokenizer(models.BPE({symbol: number for number, symbol in enumerate(BYTE_SYMBOLS)}, []))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    return compile_vocabulary(backend, isolated=frozenset())


def _encode_bpe() -> Call:
    texts = [f"text {number}" for number in range(20)]
    return native.encode_bpe, [_block(), texts, bytearray(), False], [texts]


def _marks(count: int, *, first: int = 1) -> list[Any]:
    return [(first + 2 * number, 2 + 2 * number, f"token{number}") for number in range(count)]


def _split_text() -> Call:
    marks = _marks(20)
    return native.split_text, ["a" * 100, marks], [marks]


def _split_text_wrongly() -> Call:
    marks = _marks(20, first=2**70)
    return native.split_text, ["a" * 100, marks], [marks]


def _join_pieces() -> Call:
    marks = _marks(20)
    added = {token: number for number, (_, _, token) in enumerate(marks[:-1])}
    borders, texts = native.split_text("a" * 100, marks)
    pieces = [array("I", [len(text)]).tobytes() for text in texts]
    return native.join_pieces, [pieces, 0, borders, marks, added], [marks, pieces, added]


def _encoded() -> tuple[str, array[int], array[int], array[int], array[int], str, array[int]]:
    ids, sizes, borders, ends = array("I", [0, 0, 0]), array("I", [3]), array("q", [0, 6]), array("q", [3])
    return "abcdef", ids, sizes, borders, ends, "abcdef", array("q", [1, 1])


def _join_regions() -> Call:
    regions: Any = [Region.MARKER, Region.CALL] * 20
    tokens = list(range(1_000, 1_040))
    return native.join_regions, [regions, tokens, Region.MARKER, ParsedPart], [regions, tokens]


def _encode_parts() -> Call:
    marks = _marks(20)
    added: Any = {token: number for number, (_, _, token) in enumerate(marks)}
    young: Any = {"a" * 60: array("I", [7]).tobytes()}
    old = dict(young)
    arguments = [_block(), bytearray(2**12), bytearray(), ("a" * 100,) * 2, (marks, marks), added, young, old, 1, str]
    return native.encode_parts, arguments, [marks, added, young, old]


def _locate() -> Call:
    encoded, places = _encoded(), [0, 1, 4, 5]
    return native.locate, [*encoded, places], [places, *encoded[-3::2]]


class _Channel:
    """A channel that nothing but its list refers to."""


def _attribute() -> Call:
    encoded = _encoded()
    labels = tuple((at, at + 1, 0, (), _Channel(), False, True) for at in range(6))
    return native.attribute, [*encoded, labels, tuple], [*encoded[-3::2]]


def _attribute_spans() -> Call:
    encoded, spans = _encoded(), tuple(Span(at, at + 1, 0, ("content", f"{at}")) for at in range(4))
    results: list[Any] = [False]
    headers: list[Any] = [(("".join(["a", "b"]), "", True), ("", "", True))]
    marks = [(at, at + 1, "".join(["<", str(at)])) for at in range(4)]
    rules = frozenset({"<4", "<9"}), frozenset({"<9"}), None, (None, None)

    def channel_of(_path: Any, _flag: object) -> _Channel:
        _drop_channels()
        return _Channel()

    given = [spans, results, channel_of, ("scaffold", "content", "reasoning"), "role", headers, marks, rules, tuple]
    return native.attribute_spans, [*encoded, *given], [results, headers, marks, *encoded[-3::2]]


def _drop_channels() -> None:
    for each in gc.get_objects():
        if type(each) is list and each and type(each[-1]) is _Channel:
            each.clear()


def _spans() -> tuple[Any, ...]:
    return tuple(Span(at, at + 2, at % 5, ("content",) if at % 2 else ()) for at in range(20))


def _touching_fields() -> Call:
    marks = _marks(10)
    return native.touching_fields, [_spans(), marks], [marks]


def _index_spans() -> Call:
    results = _numbers(5)
    arguments = [_spans(), results, lambda path, flag: (flag, path), ("scaffold", "content"), "role", tuple]
    return native.index_spans, arguments, [results]


def _index_spans_of_arguments() -> Call:
    """The function for channels drops those that were found so far."""

    def channel_of(_path: Any, flag: object) -> _Channel:
        if flag is not None:
            _drop_channels()
        return _Channel()

    spans = tuple(Span(at, at + 1, at % 2 - 1, ("tools",)) for at in range(200))
    return native.index_spans, [spans, [False], channel_of, ("scaffold", "content"), "role", tuple], []


def _label_spans() -> Call:
    channels: list[Any] = [object() for _ in range(20)]
    ranges = ((int("3") + 10**6, 4), (5, 6))
    turns: list[Any] = [(0, 1, 5, (), None), None, (2, 2, 9, (), tuple(_numbers(4))), None, (0, 0, 30, ranges, None)]
    media, kinds = {9: object()}, ("scaffold", "content", "reasoning")
    arguments = [_spans(), channels, turns, media, kinds, tuple, lambda *_: []]
    return native.label_spans, arguments, [channels, turns, media]


def _find_turns() -> Call:
    spans, places = _spans(), [(at, at + 2, at + 1, 0, -1, -1, 0, -1) for at in range(5)]
    headers: list[Any] = [(("".join(["a", "b"]), "", True), ("", "", True)) for _ in places]
    marks = [(at, at + 1, "".join(["<", str(at)])) for at in range(22)]
    rules = frozenset({"<4", "<9"}), frozenset({"<9"}), None, ("<", ">")
    return (
        native.find_turns,
        ["ab<d" * 9, spans, places, headers, marks, rules, (tuple, tuple)],
        [places, headers, marks],
    )


def _output() -> tuple[list[Any], Any]:
    root = scopes.root_scope()
    pieces: list[Any] = [root]
    for number in range(10):
        pieces += [f"text {number}", field_text(f"field {number}", (number % 3, ("content",)))]
        pieces.append(scopes.enter_branch(root, [], False))
    return pieces, root


def _settle() -> Call:
    pieces, root = _output()
    roles = ["user"] * 3
    arguments = ["".join(pieces), pieces, root, roles, frozenset({"system"}), scopes._TYPES]
    return native.settle, arguments, [pieces, roles]


def _written_fields() -> Call:
    pieces, _ = _output()
    return native.written_fields, [pieces, scopes.TEXT_TYPES], [pieces]


def _may_lose() -> Call:
    calls = [{"function": {"name": f"name{number}", "arguments": {}}, "id": f"id{number}"} for number in range(9)]
    messages: list[Any] = [{"role": "assistant", "content": "", "tool_calls": calls} for _ in range(30)]
    pieces = [
        text
        for index in range(30)
        for number in range(9)
        for text in [field_text("x", (index, ("tool_calls", number, "function", "name")))]
    ]
    changed = [messages, *messages, calls, *calls, *(call["function"] for call in calls), pieces]
    return native.may_lose, [pieces, messages, (), frozenset(), scopes.TEXT_TYPES, loss_check._WORDS], changed


def _finish_messages() -> Call:
    messages: list[Any] = [{"role": "assistant", "reasoning": f"text {number}"} for number in range(9)]
    return native.finish_messages, [messages, _KEYS], [messages, *messages]


def _data() -> dict[str, Any]:
    return {f"key{at}": [_numbers(2), {f"inner{at}": f"text {at}"}, 0.5 + at] for at in range(9)}


def _containers(data: Any) -> list[Any]:
    inner = data.values() if isinstance(data, dict) else data
    return [data, *(found for item in inner if isinstance(item, dict | list) for found in _containers(item))]


def _wrap_contents() -> Call:
    data = _data()
    return native.wrap_contents, [data, 0, (), wrapping._TYPES], _containers(data)


def _wrap_list() -> Call:
    data = [*_data().values()]
    return native.wrap_contents, [data, 0, (), wrapping._TYPES], _containers(data)


class _Message(dict[str, Any]):
    __slots__ = ("_owner",)


def _wrap_messages() -> Call:
    messages, wrapped = [_data() for _ in range(4)], list[Any]()
    return native.wrap_messages, [messages, wrapped, _Message, wrapping._TYPES], _containers(messages)


def _copy_json() -> Call:
    data = _data()
    return native.copy_json, [data, 99, True], _containers(data)


def _json_text() -> Call:
    data = _data()
    data["key8"].append("\ud800")
    return native.json_text, [data], _containers(data)


def _same_json() -> Call:
    data = _data()
    return native.same_json, [data, _data()], _containers(data)


def _is_plain() -> Call:
    data = _data()
    return native.is_plain, [data], _containers(data)


def _pack_ids() -> Call:
    ids = [*_numbers(9), -int("9" * 40)]
    return native.pack_ids, [ids, array("I", [0]) * len(ids)], [ids]


def _find_invalid_id() -> Call:
    ids = [*_numbers(9), -int("9" * 40)]
    return native.find_invalid_id, [ids], [ids]


CALLS: dict[str, Callable[[], Call]] = {
    make.__name__.removeprefix("_"): make
    for make in (
        *(
            _join,
            _join_regions,
            _encode_bpe,
            _encode_parts,
            _split_text,
            _split_text_wrongly,
            _join_pieces,
            _locate,
            _attribute,
            _attribute_spans,
        ),
        *(
            _index_spans,
            _index_spans_of_arguments,
            _touching_fields,
            _label_spans,
            _find_turns,
            _settle,
            _written_fields,
            _may_lose,
            _finish_messages,
            _wrap_contents,
            _wrap_list,
        ),
        *(_wrap_messages, _copy_json, _json_text, _same_json, _is_plain, _pack_ids, _find_invalid_id),
    )
}
"""Calls of all functions that read lists, dicts or arrays, by name."""


def _call_during_collection(make: Callable[[], Call], allocations: int, *, kept: int) -> None:
    """Make a call that collects garbage after some allocations."""
    function, arguments, containers = make()
    gc.collect()
    Finalizer(containers, kept=kept)
    del containers
    # Python keeps freed lists for reuse. A new list is allocated only if there are none.
    lists: list[list[int]] = [[] for _ in range(200)]
    gc.set_threshold(gc.get_count()[0] + allocations, 1_000, 1_000)
    gc.enable()
    with contextlib.suppress(Exception):
        function(*arguments)
    gc.disable()
    del lists


def main(name: str) -> None:
    """Make a call with a collection at each of its first allocations."""
    gc.disable()
    for allocations, kept in itertools.product(range(_ALLOCATIONS), (0, 1)):
        _call_during_collection(CALLS[name], allocations, kept=kept)
        try:
            raise ValueError
        except ValueError:
            # Python 3.11 creates the object of an error in C at once only while another one is handled.
            _call_during_collection(CALLS[name], allocations, kept=kept)


if __name__ == "__main__":
    main(sys.argv[1])
