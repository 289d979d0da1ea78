"""The laws of rendering, checked with generated conversations on every available model.

1. Parity: the ids equal those of the reference tokenizer, applied to the text of the reference template.
2. Attribution: every token has a message or none, a channel and a sampled flag, and attribution changes no id.
5. Neutrality: with `content_tokens="text"`, no text of a message becomes a special token, and nothing else changes.
6. One tokenizer: any number of threads share one renderer without a lock and get the same ids.
"""

from __future__ import annotations

import datetime
import pickle
import random
import re
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers.utils.chat_template_utils import _compile_jinja_template

from renderers import (
    EMBEDDED,
    ChatRenderer,
    ControlTextError,
    LoadedTokenizer,
    MessageError,
    TemplateError,
    create_renderer,
    load_tokenizer,
)
from renderers.core.messages import normalise_messages
from renderers.core.spans import Channel
from renderers.core.tokens import RenderedTokens
from renderers.programs.adapt import InputAdapter
from tests.support.conversations import CONVERSATIONS, TOOLS
from tests.support.models import one_model_per_template, unpack_hub
from tests.support.reference import lists_can_change, prepare_tools
from tests.support.settings import template_renderer, with_settings

NOW = datetime.datetime(2026, 11, 15, 12, 30)
MODELS = [str(EMBEDDED), *one_model_per_template()]
THREADS = 16

MARKERS = "<think> </think> <|im_end|> <|im_start|> <|eot_id|> </s> [INST] <tool_call> </tool_call>".split()
FRAGMENTS = st.sampled_from(["\n", "\n\n", "\t", "{{ x }}", "{%- endif %}", "%s", "{0}", *MARKERS])
TEXTS = st.lists(st.text(max_size=8) | FRAGMENTS, max_size=5).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.floats(-10, 10) | TEXTS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Draw a conversation that most templates accept: alternating turns, and calls with their results."""
    messages: list[dict[str, Any]] = [{"role": "system", "content": draw(TEXTS)}] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(1, 3))):
        messages.append({"role": "user", "content": draw(TEXTS)})
        if draw(st.booleans()):
            arguments = draw(st.dictionaries(st.text("abc", min_size=1), VALUES, max_size=2))
            call = {"id": f"call{turn:05}", "type": "function", "function": {"name": "search", "arguments": arguments}}
            messages.append({"role": "assistant", "content": draw(TEXTS), "tool_calls": [call]})
            messages.append({"role": "tool", "tool_call_id": call["id"], "name": "search", "content": draw(TEXTS)})
        thought = draw(st.sampled_from(["", "<think>\nplan\n</think>\n", "<think>", "</think>"]))
        answer = {"role": "assistant", "content": thought + draw(TEXTS)}
        if draw(st.booleans()):
            answer["reasoning_content"] = draw(TEXTS)
        messages.append(answer)
    return messages[: draw(st.integers(1, len(messages)))]


def check_start(renderer: ChatRenderer, rendered: RenderedTokens, messages: Any, **arguments: Any) -> None:
    """Check that the sampled tokens of the last turn begin after its prompt, if the ids begin with that prompt."""
    last = max((at for at, message in enumerate(messages) if message["role"] == "assistant"), default=0)
    if not last or last < len(messages) - 1:
        return
    try:
        prompt = renderer.render_ids(messages[:last], add_generation_prompt=True, **arguments)
    except (MessageError, TemplateError):
        return
    if rendered.token_ids[: len(prompt)] == prompt and len(prompt) < len(rendered.token_ids):
        sampled = [
            at
            for at, (index, is_sampled) in enumerate(zip(rendered.message_indices, rendered.sampled_mask, strict=True))
            if is_sampled and index == last
        ]
        assert not sampled or sampled[0] == len(prompt)


def check_neutrality(renderer: ChatRenderer, rendered: RenderedTokens, messages: Any, **arguments: Any) -> None:
    """Check that all modes agree without control text, and that text mode encodes none of it as special tokens."""
    text, refuse = (with_settings(renderer, content_tokens=mode) for mode in ("text", "refuse"))
    plain = text.render(messages, **arguments)
    if not rendered.injected:
        assert plain == rendered == refuse.render(messages, **arguments)
        return
    with pytest.raises(ControlTextError):
        refuse.render(messages, **arguments)
    assert [span[:3] for span in plain.injected] == [span[:3] for span in rendered.injected]
    assert renderer.tokenizer.decode(plain.token_ids) == renderer.tokenizer.decode(rendered.token_ids)
    assert isinstance(renderer.tokenizer, LoadedTokenizer)
    reserved = {token for text, token in renderer.tokenizer.added_tokens.items() if text.strip("▁ \n\t")}
    injected = {at for span in rendered.injected for at in range(span.start, span.end)}
    own = [token for at, token in enumerate(rendered.token_ids) if token in reserved and at not in injected]
    assert [token for token in plain.token_ids if token in reserved] == own


def renderer_of(name: str) -> ChatRenderer:
    if name != str(EMBEDDED):
        unpack_hub()
    return create_renderer(load_tokenizer(name), date=NOW, on_loss="ignore")


def reference(renderer: ChatRenderer, messages: Any, tools: Any, **arguments: Any) -> list[int] | None:
    """Return the ids of the text that transformers renders, encoded at once; None if the template fails."""
    template = renderer.template(tools=tools is not None)
    tokens = tuple(renderer.tokenizer.special_tokens_map.items())
    prepared = prepare_tools(
        template.source, InputAdapter(template, tokens).tools(tools), sort=renderer.program == "sorted-tools"
    )
    try:
        with lists_can_change():
            text = _compile_jinja_template(template.source).render(
                messages=InputAdapter(template, tokens).messages(normalise_messages(messages)),
                documents=None,
                strftime_now=NOW.strftime,
                **dict(tokens),
                **prepared,
                **arguments,
            )
    except Exception:
        return None
    return renderer.tokenizer.encode(text, add_special_tokens=False)


@pytest.mark.filterwarnings("ignore::renderers.UnreadSwitchWarning")
@pytest.mark.parametrize("name", MODELS)
def test_ids_equal_those_of_the_reference_tokenizer_and_template(name: str) -> None:
    if name != str(EMBEDDED):
        unpack_hub()
    renderer = template_renderer(load_tokenizer(name), date=NOW, on_loss="ignore")

    @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), database=None)
    @given(conversations(), st.booleans(), st.booleans(), st.sampled_from([{}, {"enable_thinking": False}]))
    def check(messages: list[dict[str, Any]], prompt: bool, with_tools: bool, switches: dict[str, Any]) -> None:
        tools = TOOLS if with_tools else None
        expected = reference(renderer, messages, tools, add_generation_prompt=prompt, **switches)
        if expected is None:
            # System messages alone are rendered even if the template requires a user message.
            if any(message["role"] != "system" for message in messages):
                with pytest.raises(TemplateError):
                    renderer.render_ids(messages, tools=tools, add_generation_prompt=prompt, **switches)
        else:
            assert expected == renderer.render_ids(messages, tools=tools, add_generation_prompt=prompt, **switches)
            rendered = renderer.render(messages, tools=tools, add_generation_prompt=prompt, **switches)
            check_attribution(rendered, expected, messages)
            check_start(renderer, rendered, messages, tools=tools, **switches)
            check_neutrality(renderer, rendered, messages, tools=tools, add_generation_prompt=prompt, **switches)

    check()


def check_attribution(rendered: RenderedTokens, ids: list[int], messages: list[dict[str, Any]]) -> None:
    """Check that every token has attribution, and that only assistant tokens are sampled."""
    assert rendered.token_ids == ids
    columns = (rendered.message_indices, rendered.channels, rendered.sampled_mask, rendered.is_content)
    assert {len(column) for column in columns} <= {len(ids)}
    latest = -1
    for index, channel, sampled, content in zip(*columns, strict=True):
        assert -1 <= index < len(messages)
        latest = max(latest, index)
        role = messages[index]["role"] if index >= 0 else None
        assert not sampled or role == "assistant"
        # Content after a later message is not sampled.
        assert not (role == "assistant" and content and not sampled and latest == index)
        assert not (index < 0 and (content or channel is Channel.CONTENT))
    assert rendered.message_roles == [message["role"] for message in messages]
    assert rendered == pickle.loads(pickle.dumps(rendered))


class Planter:
    """Create texts with control text between unique words, so that it can be found in the output."""

    def __init__(self, renderer: ChatRenderer, chance: random.Random) -> None:
        self._reserved = sorted(renderer.tokenizer.vocab.reserved_texts)
        self._chance = chance
        self._planted: dict[str, tuple[int, str, str]] = {}

    def plant(self, message: int, field: str) -> str:
        token, number = self._chance.choice(self._reserved), len(self._planted)
        needle = f"word{number} {token} drow{number}"
        self._planted[needle] = (message, field, token)
        return f"Ünder {needle}."

    def planted_in(self, text: str) -> list[tuple[int, str, str]]:
        """Return the planted control text that occurs in a text, in order."""
        places = [
            (match.start(), planted)
            for needle, planted in self._planted.items()
            for match in re.finditer(re.escape(needle), text)
        ]
        return [planted for _, planted in sorted(places)]


def planted_conversation(planter: Planter, roles: Sequence[str]) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    for at, role in enumerate(roles):
        message: dict[str, Any] = {"role": role.split("+")[0], "content": planter.plant(at, "content")}
        if role == "assistant+calls":
            call = {"name": "search", "arguments": {"query": planter.plant(at, "tool_calls")}}
            message["tool_calls"] = [{"id": "call00000", "type": "function", "function": call}]
        elif role == "assistant":
            message["reasoning_content"] = planter.plant(at, "reasoning_content")
        elif role == "tool":
            message |= {"tool_call_id": "call00000", "name": "search"}
        messages.append(message)
    return messages


def field_of(path: tuple[str | int, ...]) -> str | int:
    """Return the field of a path. Templates read reasoning under several names."""
    return "reasoning_content" if {"thinking", "reasoning"} & set(path) else path[0]


@pytest.mark.parametrize("name", MODELS)
def test_injected_spans_are_exactly_the_planted_ones(name: str) -> None:
    renderer = renderer_of(name)
    chance = random.Random(name)
    seen: set[str] = set()
    for roles in (["user"], ["system", "user", "assistant"], ["user", "assistant+calls", "tool", "assistant"]) * 5:
        planter = Planter(renderer, chance)
        messages = planted_conversation(planter, roles)
        tools = [{"type": "function", "function": {**TOOLS[1]["function"], "description": planter.plant(-1, "tools")}}]
        try:
            rendered = renderer.render(messages, tools=tools)
            text = renderer.trace(messages, tools=tools).text
        except (MessageError, TemplateError):
            continue
        expected = planter.planted_in(text)
        assert [(span.message, field_of(span.path), span.text) for span in rendered.injected] == expected
        for mode in ("template", "text"):
            again = with_settings(renderer, content_tokens=mode).render(messages, tools=tools)
            for span, (_, _, token) in zip(again.injected, expected, strict=True):
                assert token in renderer.tokenizer.decode(again.token_ids[span.start : span.end])
        seen.update(field for _, field, _ in expected)
    assert "content" in seen


@pytest.mark.parametrize("name", [MODELS[0], *MODELS[1 :: max(1, len(MODELS) // 3)]])
def test_threads_that_share_a_renderer_get_the_same_ids(name: str) -> None:
    renderer = renderer_of(name)
    work = [(messages, tools) for messages in CONVERSATIONS.values() for tools in (None, TOOLS)]

    def ids(messages: Any, tools: Any) -> list[int] | str:
        try:
            return renderer.render_ids(messages, tools=tools, add_generation_prompt=True, process_multimodal=False)
        except (MessageError, TemplateError) as error:
            return str(error)

    expected = [ids(messages, tools) for messages, tools in work]
    barrier = threading.Barrier(THREADS)

    def run(thread: int) -> bool:
        barrier.wait()
        # Each thread starts at a different place, so that different conversations are rendered at the same time.
        places = ((k + thread * 7) % len(work) for k in range(len(work) // 2))
        return all(ids(*work[at]) == expected[at] for at in places)

    with ThreadPoolExecutor(THREADS) as threads:
        assert all(threads.map(run, range(THREADS)))
