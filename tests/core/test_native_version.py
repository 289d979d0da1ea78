"""A change of the interface of the C extension raises its version."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from renderers.core import native
from renderers.core.completions import ParsedPart
from renderers.core.spans import LabelledSpan, Span, TokenMatch
from renderers.core.tokens import TokenRun
from renderers.rendering.span_labels import MessageSpans, Region, Turn

SOURCE = Path(__file__).parent.parent.parent / "src"
RECORDED = 37, "9309884c7278eae1"
"""The version, and the digest of its interface."""

FORMATS = ("block.h", "table.h")
"""The headers that hold nothing but the formats of buffers."""
TUPLES = (LabelledSpan, MessageSpans, ParsedPart, Region, Span, TokenMatch, TokenRun, Turn)
"""The named tuples that C reads or creates."""
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_METHOD = re.compile(r'\{("\w+"), [^{}]*METH_\w+')
_CALL_WITH_FORMAT = re.compile(r"PyArg_ParseTuple\(([^;{]*?)\)")
_FORMAT_OR_TYPE = re.compile(r'"[^"]*"|&Py\w+')
_ENUM = re.compile(r"(?<!typedef )enum (\{[^}]*\})")
"""The order of items in tuples, and flags. An enum with a name is for C alone."""
_ATTRIBUTE = re.compile(r'(?:InternFromString|AttrString)\([^;]*?("\w+")')


def code_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def without_layout(code: str) -> str:
    return "".join(_COMMENT.sub("", code).split())


def agreed_in(code: str) -> Iterator[str]:
    """Yield the parts of a C file that have to fit the Python code."""
    code = _COMMENT.sub("", code)
    yield from _METHOD.findall(code)
    yield from (" ".join(_FORMAT_OR_TYPE.findall(call)) for call in _CALL_WITH_FORMAT.findall(code))
    yield from map(without_layout, _ENUM.findall(code))
    yield from sorted({*_ATTRIBUTE.findall(code)})


def interface() -> list[str]:
    """Return what C and Python have to agree on, without layout, comments and bodies of functions."""
    folder = SOURCE / "native"
    declared = code_of(SOURCE / "renderers" / "core" / "_native.pyi")
    return [
        *sorted(part for path in folder.glob("*.[ch]") for part in agreed_in(code_of(path))),
        *(without_layout(code_of(folder / name)) for name in FORMATS),
        *(f"{kind.__name__}{kind._fields}" for kind in TUPLES),
        re.sub(r"#.*|\s|,(?=\s*[)\]])", "", declared),
    ]


def test_the_version_is_raised_with_every_change_of_the_interface() -> None:
    found = native.NATIVE_VERSION, hashlib.sha256("\n".join(interface()).encode()).hexdigest()[:16]
    version = max(native.NATIVE_VERSION, RECORDED[0] + 1)
    if found != RECORDED:
        pytest.fail(
            "The interface of the C extension changed, or its version. Python code must not use an extension that was "
            "built for another interface. Set VERSION in src/native/native.h and NATIVE_VERSION in "
            f"src/renderers/core/native.py to {version}, and RECORDED in this file to {(version, found[1])}."
        )


def test_c_and_python_have_the_same_version() -> None:
    header = (SOURCE / "native" / "native.h").read_text(encoding="utf-8")
    assert re.findall(r"#define VERSION (\d+)", header) == [str(native.NATIVE_VERSION)]


CODE = """
enum { FIRST, SECOND };
typedef enum { FAILED, DONE } Status;
static PyMethodDef methods[] = {{"find", native_find, METH_VARARGS, "find(text): the place."}};
PyObject *native_find(PyObject *module, PyObject *args)
{
    if (!PyArg_ParseTuple(args, "O!n:find", &PyList_Type, &list, &count))
        return NULL;
    return PyObject_GetAttr(list, PyUnicode_InternFromString("owner"));
}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FIRST, SECOND", "SECOND, FIRST"),
        ("FIRST,", "FIRST = 3,"),
        ('"find", native', '"find_it", native'),
        ("O!n:find", "O!i:find"),
        ("&PyList_Type", "&PyTuple_Type"),
        ('"owner"', '"parent"'),
    ],
)
def test_changes_of_the_interface_are_noticed(old: str, new: str) -> None:
    assert list(agreed_in(CODE.replace(old, new))) != list(agreed_in(CODE))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("FIRST, SECOND", "FIRST,\n    SECOND /* the last */\n"),
        ("FAILED, DONE", "FAILED, UNKNOWN, DONE"),
        ("the place.", "the first place."),
        ("&list, &count", "&items,\n        &number"),
        ("return NULL;", "return Py_NewRef(Py_None);"),
    ],
)
def test_other_changes_are_not(old: str, new: str) -> None:
    assert list(agreed_in(CODE.replace(old, new))) == list(agreed_in(CODE))
