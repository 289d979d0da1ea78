"""A run that differs from a checked one only in texts of new messages passes the same check, and no other run does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from renderers import EMBEDDED, Bridge, create_renderer, load_tokenizer
from renderers.bridging.checked_run import CheckedRun
from renderers.bridging.context import BridgeContext
from renderers.core.spans import Span, Trace

Part = tuple[str, int, tuple[str, ...]]
BEFORE: list[Part] = [("<u>", 0, ()), ("Hi", 0, ("content",)), ("<a>", 1, ()), ("Yes", 1, ("content",)), ("<e>", 1, ())]
LATER: list[Part] = [("<u>", 2, ()), ("Bye", 2, ("content",)), ("<e>", 2, ()), ("<a>", -1, ())]
TOKENS = frozenset({"<u>", "<a>", "<e>"})


def trace_of(parts: Sequence[Part]) -> Trace:
    spans, end = [], 0
    for text, message, path in parts:
        spans.append(Span(end, end + len(text), message, path))
        end += len(text)
    return Trace("".join(part[0] for part in parts), tuple(spans))


def checked_run(parts: Sequence[Part], tokens: frozenset[str] = TOKENS) -> CheckedRun | None:
    return CheckedRun.of(trace_of(parts), turn=1, end=len(trace_of(BEFORE).text), special_tokens=tokens)


def changed(parts: Sequence[Part], at: int, part: Part) -> list[Part]:
    return [*parts[:at], part, *parts[at + 1 :]]


@pytest.mark.parametrize("content", ["Bye", "x", "<e>", "longer than the one before é"])
def test_other_texts_of_new_messages_are_alike(content: str) -> None:
    run = checked_run([*BEFORE, *LATER])
    assert run is not None
    assert run.is_like(trace_of([*BEFORE, *changed(LATER, 1, (content, 2, ("content",)))]))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param([*BEFORE, *changed(LATER, 1, ("", 2, ("content",)))], id="empty text"),
        pytest.param([*BEFORE, *changed(LATER, 1, ("Bye", 2, ("name",)))], id="other field"),
        pytest.param([*BEFORE, *changed(LATER, 1, ("Bye", 3, ("content",)))], id="other message"),
        pytest.param([*BEFORE, *changed(LATER, 1, ("Bye", 0, ("content",)))], id="earlier message"),
        pytest.param([*BEFORE, *changed(LATER, 0, ("<v>", 2, ()))], id="other template text"),
        pytest.param([*BEFORE, *LATER[:-1]], id="no generation prompt"),
        pytest.param([*BEFORE, *LATER, ("x", 2, ("name",))], id="another field"),
        pytest.param([*changed(BEFORE, 3, ("No!", 1, ("content",))), *LATER], id="other turn"),
        pytest.param([*changed(BEFORE, 3, ("Yes", 1, ("name",))), *LATER], id="other field of the turn"),
        pytest.param([*changed(BEFORE, 1, ("Hello", 0, ("content",))), *LATER], id="other history"),
        pytest.param([*changed(BEFORE, 1, ("Hi", 2, ("content",))), *LATER], id="new message in the history"),
    ],
)
def test_any_other_difference_is_not_alike(parts: list[Part]) -> None:
    run = checked_run([*BEFORE, *LATER])
    assert run is not None
    assert not run.is_like(trace_of(parts))


def test_an_empty_text_stays_empty() -> None:
    run = checked_run([*BEFORE, *changed(LATER, 1, ("", 2, ("content",)))])
    assert run is not None
    assert run.is_like(trace_of([*BEFORE, *changed(LATER, 1, ("", 2, ("content",)))]))
    assert not run.is_like(trace_of([*BEFORE, *LATER]))


def test_a_run_in_which_a_text_can_complete_a_special_token_is_not_kept() -> None:
    # "<u" and the beginning of the new message may be the token that ends the turn.
    parts = [*BEFORE, *changed(LATER, 0, ("<u", 2, ()))]
    assert checked_run(parts, frozenset({"<e>"})) is not None
    assert checked_run(parts) is None


def test_a_second_bridge_of_a_kind_labels_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED), verify=False)
    prompt = renderer.render_ids([{"role": "user", "content": "Hi"}], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Yes.<|end|>")

    def bridge(content: str) -> Any:
        return renderer.bridge(prompt, completion, [{"role": "user", "content": content}])

    first = bridge("Bye")
    monkeypatch.setattr("renderers.rendering.pipeline.label", None)
    second = bridge("Good night")
    monkeypatch.undo()
    for bridged, content in ((first, "Bye"), (second, "Good night")):
        assert isinstance(bridged, Bridge)
        messages = [("user", "Hi"), ("assistant", "Yes."), ("user", content)]
        whole = [{"role": role, "content": text} for role, text in messages]
        assert bridged.tokens.token_ids == renderer.render_ids(whole, add_generation_prompt=True)
    assert [run[1:] for run in second.tokens.runs] == [run[1:] for run in first.tokens.runs]


def test_checked_runs_of_contexts_are_apart() -> None:
    renderer = create_renderer(load_tokenizer(EMBEDDED))
    contexts = [BridgeContext(renderer._pipeline, None, header) for header in ("a", "a")]
    assert contexts[0].checked_runs is not contexts[1].checked_runs
