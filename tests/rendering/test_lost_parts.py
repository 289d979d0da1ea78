"""Values are compared with the text that was written of them."""

from __future__ import annotations

import pytest

from renderers.core.spans import Path
from renderers.rendering.lost_parts import LostPart, WrittenData, lost_text, lost_texts


@pytest.mark.parametrize(
    ("value", "own", "around", "lost"),
    [
        ("a b", "a b", "", None),
        (" a b\n", "a b", "", None),
        ("a\n b", "a b", "", "some"),
        ("a\nb", "a\n    b", "", None),
        ("a\nb", "a\\nb", "", None),
        ("abcdef", "abcabc", "abcabc", "some"),
        ("a b", "A B", "", None),
        ("a</think>b", "ab", "a\n</think>\nb", None),
        ("a</think>b", "b", "b", "some"),
        ("a", "", "", "all"),
    ],
)
def test_a_text_is_compared_without_white_space_around_it(value: str, own: str, around: str, lost: str | None) -> None:
    assert lost_text(value, own, around) == lost


@pytest.mark.parametrize(
    ("texts", "lost"),
    [
        ({("x",): '{"city": "Rome", "days": [1, "two"]}'}, []),
        ({("x",): "{'city': 'Rome', 'days': [1, 'two']}"}, []),
        ({("x", "city"): "cityRome", ("x", "days"): 'days[1, "two"]'}, []),
        ({("x", "city"): "city", ("x", "days"): 'days[1, "two"]'}, [LostPart(("x", "city"), "some")]),
        ({("x", "city"): "cityRome"}, [LostPart(("x", "days"), "all")]),
        ({("x", "city"): "cityRome", ("x", "days", 0): "days1"}, [LostPart(("x", "days"), "some")]),
        ({}, [LostPart(("x",), "all")]),
    ],
)
def test_parts_of_data_are_lost_one_by_one(texts: dict[Path, str], lost: list[LostPart]) -> None:
    found = WrittenData(texts).lost_parts({"city": "Rome", "days": [1, "two"]}, ("x",))
    assert found[-1:] == lost[-1:]
    assert bool(found) == bool(lost)


@pytest.mark.parametrize(
    ("values", "own", "copies", "lost"),
    [
        (["a b", "c"], "a bc", False, [None, None]),
        (["a b", "c"], "c", False, ["all", None]),
        (["RSN2", "RSN"], "RSN2", True, [None, "all"]),
        (["RSN", "RSN2"], "RSN2", True, ["all", None]),
        (["a", "a"], "a", True, [None, None]),
        (["a", "a"], "a", False, [None, "all"]),
    ],
)
def test_texts_of_one_field_are_each_written(values: list[str], own: str, copies: bool, lost: list[str | None]) -> None:
    assert lost_texts(values, own, own, copies=copies) == lost


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ('{"flag": true, "off": false, "page": null}', []),
        ("{'flag': True, 'off': False, 'page': None}", []),
        ("flag= off=false page=", [("x", "flag"), ("x", "page")]),
    ],
)
def test_booleans_and_none_are_parts(text: str, paths: list[Path]) -> None:
    lost = WrittenData({("x",): text}).lost_parts({"flag": True, "off": False, "page": None}, ("x",))
    assert lost == [LostPart(path, "some") for path in paths]


def test_white_space_inside_of_an_argument_is_a_part() -> None:
    value = {"code": "a\n  b"}
    assert WrittenData({("x", "code"): "codea\n  b"}).lost_parts(value, ("x",)) == []
    assert WrittenData({("x",): '{"code":"a\\n  b"}'}).lost_parts(value, ("x",)) == []
    assert WrittenData({("x", "code"): "codea  b"}).lost_parts(value, ("x",)) == [LostPart(("x", "code"), "some")]


def test_keywords_of_a_schema_may_be_written_in_other_words() -> None:
    schema = {
        "name": "search",
        "parameters": {
            "type": "object",
            "properties": {"query": {"type": "string", "description": "words"}, "page": {"type": "integer"}},
            "required": ["query"],
        },
    }
    root: Path = ("tools", 0)
    properties = (*root, "parameters", "properties")
    texts = {(*root, "name"): "search", (*properties, "query"): "query", (*properties, "page"): "page"}
    lost = WrittenData(texts, is_schema=True).lost_parts(schema, root)
    assert lost == [LostPart((*properties, "query", "description"), "all")]
    described = texts | {(*properties, "query", "description"): "words"}
    assert WrittenData(described, is_schema=True).lost_parts(schema, root) == []


def test_a_description_may_be_written_as_a_comment_of_several_lines() -> None:
    tool = {"name": "now", "description": "Return the time.\nIn UTC."}
    comment = WrittenData({("tools", 0): "// Return the time.\n// In UTC.\ntype now"}, is_schema=True)
    assert comment.lost_parts([tool], ("tools",)) == []
    first_line = WrittenData({("tools", 0): "// Return the time.\ntype now"}, is_schema=True)
    assert first_line.lost_parts([tool], ("tools",)) == [LostPart(("tools", 0, "description"), "all")]
