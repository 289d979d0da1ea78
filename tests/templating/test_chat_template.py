"""A template is compiled once for each source, can be pickled, and can verify its runs."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from renderers.errors import MessageError, TemplateSourceError, TraceMismatchError
from renderers.templating import ChatTemplate
from renderers.templating.compiler import CompiledTemplate
from renderers.templating.template import _compile


def test_a_template_is_compiled_once_for_each_source() -> None:
    before = _compile.cache_info()
    for _ in range(5):
        ChatTemplate("{{ messages }} once").run([{"role": "user"}])
    assert _compile.cache_info().misses == before.misses + 1
    assert before.maxsize is not None


def test_equal_templates_compare_equal_and_can_be_pickled() -> None:
    template = ChatTemplate("{{ messages }}", verify=True)
    assert pickle.loads(pickle.dumps(template)) == template == ChatTemplate("{{ messages }}", verify=True)
    assert hash(template) == hash(ChatTemplate("{{ messages }}", verify=True))
    with pytest.raises(AttributeError):
        template.source = ""  # type: ignore[misc]


def test_a_source_that_is_not_a_string_is_rejected() -> None:
    source: Any = None
    with pytest.raises(TemplateSourceError, match="a chat template must be a string, not None"):
        ChatTemplate(source)


def test_messages_that_are_not_json_data_are_rejected_with_their_index() -> None:
    template = ChatTemplate("{{ messages }}")
    cyclic: dict[str, Any] = {"role": "user"}
    cyclic["content"] = [cyclic]
    with pytest.raises(MessageError, match=r"^message 1: contains itself or is nested too deeply$"):
        template.run([{"role": "user"}, cyclic])
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(MessageError, match=r"^style contains itself"):
        template.run([{"role": "user"}], style=loop)
    with pytest.raises(MessageError, match=r"^tools contains itself"):
        template.run([{"role": "user"}], tools=loop)
    nothing: Any = None
    with pytest.raises(MessageError, match=r"^messages must be a list of messages, not None$"):
        template.run(nothing)
    message: Any = {1: 2, "role": "user"}
    with pytest.raises(MessageError, match=r"^message 0: has the key 1, but JSON keys must be strings$"):
        template.run([message])
    messages: Any = ["Hi"]
    with pytest.raises(MessageError, match=r"^message 0: must be a dict with role and content$"):
        template.run(messages)


def test_a_run_that_differs_from_a_plain_one_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    other = CompiledTemplate(lambda variables, pieces, scope, budget: pieces.append("other"), frozenset(), ())
    monkeypatch.setattr("renderers.templating.template._compile", lambda source, limits: other)
    template, messages = ChatTemplate("{{ messages[0].content }}"), [{"role": "user", "content": "x"}]
    with pytest.raises(
        TraceMismatchError, match=r"^our run of the template gives .*, but Jinja gives .*please report this"
    ):
        template.run(messages)
    assert ChatTemplate(template.source, verify=False).run(messages).text == "other"
