"""The worker runs cases through the API of release 0.1, and returns JSON data."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from renderers import EMBEDDED, ChatRenderer, create_renderer
from scripts.compare.worker import UNKNOWN, answer, create, run_case

MODEL = str(EMBEDDED)
CHAT = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello!"}]


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(MODEL)


def run(renderer: ChatRenderer, kind: str, **arguments: Any) -> dict[str, Any]:
    return run_case(renderer, {"kind": kind, "arguments": arguments})


def test_a_job_is_answered_with_the_family_and_a_result_per_case() -> None:
    case = {"kind": "render", "arguments": {"messages": CHAT, "tools": None, "add_generation_prompt": False}}
    answered = answer({"model": MODEL, "settings": {}, "cases": [case, {"kind": "facts", "arguments": {}}]})
    assert answered["family"] == UNKNOWN
    rendered, facts = answered["results"]
    assert rendered["message_roles"] == ["user", "assistant"]
    assert len(rendered["token_ids"]) == len(rendered["sampled_mask"]) == len(rendered["channels"])
    assert facts["stop_token_ids"]
    assert json.loads(json.dumps(answered)) == answered


def test_a_model_that_does_not_load_is_an_error() -> None:
    answered = answer({"model": f"{MODEL}/none", "settings": {}, "cases": []})
    assert "results" not in answered
    assert answered["error"]


def test_the_families_are_listed_with_their_switches() -> None:
    assert answer({"families": True})["families"]["qwen3"] == ["enable_thinking"]


def test_settings_are_fields_of_the_config() -> None:
    assert create(MODEL, family=UNKNOWN, settings={"conventions": "0.1"}).config.conventions == "0.1"


def test_a_case_that_raises_has_an_error_as_its_result(renderer: ChatRenderer) -> None:
    result = run(renderer, "render", messages=[{"role": "user", "content": 1}])
    assert result["error"].startswith("MessageError: ")


def test_a_case_is_not_modified(renderer: ChatRenderer) -> None:
    case = {"kind": "sample", "arguments": {"messages": CHAT, "roles": ["assistant"], "content_sft_roles": ["user"]}}
    before = copy.deepcopy(case)
    assert "loss_mask" in run_case(renderer, case)
    assert case == before


def test_a_parsed_response_has_the_fields_of_every_call(renderer: ChatRenderer) -> None:
    ids = renderer.tokenizer.encode('Hm.<|call|>{"name": "look", "arguments": {}}<|/call|>', add_special_tokens=False)
    parsed = run(renderer, "parse", token_ids=ids, prompt_ids=None, tools=None)
    assert parsed["content"] == "Hm."
    (call,) = parsed["tool_calls"]
    assert (call["name"], call["arguments"], call["status"]) == ("look", {}, "ok")
    assert set(call) == {"name", "arguments", "status", "id", "token_span", "raw"}


def test_a_bridge_gives_tokens_or_the_reason_of_a_refusal(renderer: ChatRenderer) -> None:
    prompt = renderer.render_ids(CHAT[:1], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Hello!<|end|>", add_special_tokens=False)
    prior = {"prompt_ids": prompt, "completion_ids": completion, "tools": None}
    assert run(renderer, "bridge", new_messages=CHAT[:1], **prior)["token_ids"]
    assert run(renderer, "bridge", new_messages=CHAT[1:], **prior)["refused"]


def test_roles_restrict_the_loss_mask(renderer: ChatRenderer) -> None:
    masks = [run(renderer, "sample", messages=CHAT, roles=roles)["loss_mask"] for roles in (["assistant"], ["user"])]
    assert [sum(mask) > 0 for mask in masks] == [True, False]


def test_the_methods_of_rendered_tokens_are_called(renderer: ChatRenderer) -> None:
    tokens = renderer.render(CHAT)
    names = ("token_ids", "message_indices", "sampled_mask", "is_content", "message_roles", "message_tool_names")
    result = run(renderer, "spans", **{name: list(getattr(tokens, name)) for name in names})
    assert result["tokens_per_message"] == tokens.tokens_per_message()
    assert result["role_token_spans"].keys() == {"user", "assistant"}
