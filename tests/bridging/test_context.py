"""A bridge gives the same result whatever the process bridged before."""

from __future__ import annotations

import datetime
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import renderers.bridging.bridge
from renderers import EMBEDDED, Bridge, BridgeReason, BridgeRefusal, ChatRenderer, create_renderer, load_tokenizer
from renderers.bridging.context import BridgeContext, clear_proof_caches
from renderers.bridging.proofs import prove

ASK = {"role": "user", "content": "Hi"}
BYE = {"role": "user", "content": "Bye"}
PROMPT = '{% if add_generation_prompt %}{{ "<|turn|>assistant\\n" }}{% endif %}'
TURN = """{% for message in messages %}{{ "<|turn|>" + message.role + "\\n" }}
{%- if message.role == "user" and loop.index > 1 %}[MARK]{% endif %}{{ message.content + "<|end|>\\n" }}"""
TOOL_COUNT = "{% if tools and tools | length > 1 %}{{ loop.index }}{% endif %}"
URGENT = "{% if message.urgent %}{{ loop.index }}{% endif %}"


def renderer_for(mark: str, **options: Any) -> ChatRenderer:
    """Return a renderer of the embedded model with `mark` written into the header of each message."""
    template = TURN.replace("[MARK]", mark) + "{% endfor %}" + PROMPT
    return create_renderer(load_tokenizer(EMBEDDED), chat_template=template, **options)


def tool(name: str, **fields: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {}}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters, **fields}}


def bridge(
    renderer: ChatRenderer,
    *new: dict[str, Any],
    completion: str = "Hello<|end|>",
    tools: Any = None,
    **arguments: Any,
) -> Bridge | BridgeRefusal:
    prompt = renderer.render_ids([ASK], tools=tools, add_generation_prompt=True, **arguments)
    return renderer.bridge(prompt, renderer.tokenizer.encode(completion), list(new), tools=tools, **arguments)


@pytest.fixture
def proofs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Return a list that gets an entry for each proof, with the caches cleared."""
    calls: list[Any] = []

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(args)
        return prove(*args, **kwargs)

    monkeypatch.setattr(renderers.bridging.bridge, "prove", counted)
    clear_proof_caches()
    return calls


# ==================
# Inputs of a proof
# ==================


def test_only_special_tokens_that_the_template_reads_are_literals() -> None:
    for mark, is_read in (("", False), ("{% if message.content == eos_token %}!{% endif %}", True)):
        renderer = renderer_for(mark)
        context = BridgeContext(renderer._pipeline, None, renderer.resolution.grammar.header)
        literals = context.field_rules.literals
        assert (renderer.tokenizer.special_tokens_map["eos_token"] in literals.within) is is_read


def test_a_proof_with_one_tool_is_not_used_for_two() -> None:
    renderer = renderer_for(TOOL_COUNT)
    clear_proof_caches()
    assert isinstance(bridge(renderer, BYE, tools=[tool("a")]), Bridge)
    refused = bridge(renderer, BYE, tools=[tool("a"), tool("b")])
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES


def test_the_texts_of_a_tool_are_part_of_a_proof() -> None:
    renderer = renderer_for("{% if tools and 'slow' in tools[0].function.description %}{{ loop.index }}{% endif %}")
    clear_proof_caches()
    assert isinstance(bridge(renderer, BYE, tools=[tool("a")]), Bridge)
    assert isinstance(bridge(renderer, BYE, tools=[tool("a", description="a slow one")]), BridgeRefusal)


@pytest.mark.parametrize(("value", "other"), [(True, 1), (1, 1.0)])
def test_values_of_different_types_in_a_tool_need_different_proofs(value: Any, other: Any) -> None:
    mark = "{% if tools and tools[0].function.strict | string == '" + str(value) + "' %}{{ loop.index }}{% endif %}"
    renderer = renderer_for(mark)
    clear_proof_caches()
    assert isinstance(bridge(renderer, BYE, tools=[tool("a", strict=other)]), Bridge)
    assert isinstance(bridge(renderer, BYE, tools=[tool("a", strict=value)]), BridgeRefusal)


def test_the_value_of_a_field_is_part_of_a_proof() -> None:
    renderer = renderer_for(URGENT)
    clear_proof_caches()
    assert isinstance(bridge(renderer, {**BYE, "urgent": False}), Bridge)
    refused = bridge(renderer, {**BYE, "urgent": True})
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES


@pytest.mark.parametrize(
    ("mark", "plain", "trap"),
    [
        ("{% if message.get('weight', 0) > 2 %}{{ loop.index }}{% endif %}", {"weight": 1}, {"weight": 3}),
        (
            "{% if message.meta and message.meta.a.b %}{{ loop.index }}{% endif %}",
            {"meta": {"a": {}}},
            {"meta": {"a": {"b": [1]}}},
        ),
        ("{% if message.flags and message.flags | first %}{{ loop.index }}{% endif %}", {"flags": [0]}, {"flags": [1]}),
        ("{% if message.level == 'high' %}{{ loop.index }}{% endif %}", {"level": "low"}, {"level": "high"}),
        ("{{ {'low': '', 'high': loop.index}[message.level or 'low'] }}", {"level": "low"}, {"level": "high"}),
        ("{% if 'seal' in message %}{{ loop.index }}{% endif %}", {}, {"seal": None}),
        ("{% for key, value in message.items() if value is true %}{{ loop.index }}{% endfor %}", {}, {"any": True}),
        ("{% set key = 'ur' ~ 'gent' %}{% if message[key] %}{{ loop.index }}{% endif %}", {}, {"urgent": True}),
        ("{% if 'true' in message | tojson %}{{ loop.index }}{% endif %}", {"any": False}, {"any": True}),
        ("{% if message.content | length > 9 %}{{ loop.index }}{% endif %}", {}, {"content": "a longer text"}),
        ("{% if message.content == messages[0].content %}{{ loop.index }}{% endif %}", {}, {"content": "Hi"}),
        ("{% if message.content[:3] == 'Now' %}{{ loop.index }}{% endif %}", {}, {"content": "Now then"}),
        (
            "{% set tag = 'Now' %}{% if message.content.startswith(tag) %}{{ loop.index }}{% endif %}",
            {},
            {"content": "Now then"},
        ),
        (
            "{% for tag in ['Now', 'Then'] if tag in message.content %}{{ messages | length }}{% endfor %}",
            {},
            {"content": "So Then"},
        ),
    ],
)
def test_an_earlier_bridge_with_another_value_changes_nothing(
    mark: str, plain: dict[str, Any], trap: dict[str, Any]
) -> None:
    renderer = renderer_for(mark)
    for first, second in ((plain, trap), (trap, plain)):
        clear_proof_caches()
        alone = bridge(renderer, {**BYE, **second})
        clear_proof_caches()
        bridge(renderer, {**BYE, **first})
        assert bridge(renderer, {**BYE, **second}) == alone


@pytest.mark.parametrize(
    ("test", "fields"),
    [
        ("m.content | length > 100", {"content": "word " * 50}),
        ("'\\n' in m.content", {"content": "one\ntwo"}),
        ("' ' in m.content", {"content": "one two"}),
        ("m.content | lower == 'yes'", {"content": "YES"}),
        ("'stop!' in m.content.lower()", {"content": "please STOP!"}),
        ("m.content.isdigit()", {"content": "42"}),
        ("m.content.isupper()", {"content": "HELLO"}),
        ("m.content | int > 10", {"content": "42"}),
        ("m.content.split() | length > 3", {"content": "a b c d e f"}),
        ("m.content.splitlines() | length > 1", {"content": "a\nb"}),
        ("m.content > 'zzz'", {"content": "zzzzz"}),
        ("('ma' ~ 'gic') in m.content", {"content": "a magic word"}),
        ("m.note is defined and m.note | length > 20", {"note": "a long note with many words in it"}),
        ("m.tool_call_id is defined and m.tool_call_id | length < 5", {"tool_call_id": "c1"}),
    ],
)
def test_a_text_that_is_tested_together_with_the_history_is_part_of_a_proof(test: str, fields: dict[str, Any]) -> None:
    mark = "{% if " + test + " and messages | length > 3 %}<|call|>{% endif %}"
    body = "{% for m in messages %}<|turn|>{{ m.role }}\n{{ m.content }}<|end|>\n" + mark + "{% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=body + PROMPT)
    history = [ASK, {"role": "assistant", "content": "a"}, ASK]
    turn, new = {"role": "assistant", "content": "ok"}, [{**BYE, **fields}]
    prompt = renderer.render_ids(history, add_generation_prompt=True)
    bridged = renderer.bridge(prompt, renderer.tokenizer.encode("ok<|end|>"), new)
    assert isinstance(bridged, BridgeRefusal)
    full = renderer.render_ids([*history, turn, *new], add_generation_prompt=True)
    assert renderer.tokenizer.added_tokens["<|call|>"] in full


def test_a_template_argument_is_part_of_a_proof() -> None:
    mark = "{% if message.name == speaker %}{{ loop.index }}{% endif %}"
    clear_proof_caches()
    results = {}
    for speaker in ("Ada", "Eve"):
        renderer = renderer_for(mark, chat_template_kwargs={"speaker": speaker})
        results[speaker] = bridge(renderer, {**BYE, "name": "Eve"})
    assert isinstance(results["Ada"], Bridge)
    assert isinstance(results["Eve"], BridgeRefusal)


@pytest.mark.parametrize("note", ["1 May 2030", "a long note, " * 9])
def test_an_argument_that_is_written_after_the_messages_is_in_the_suffix(note: str) -> None:
    lead = "{% if add_generation_prompt %}{{ '<|turn|>system\\n' + note + '<|end|>\\n' }}{% endif %}"
    template = TURN.replace("[MARK]", "") + "{% endfor %}" + lead + PROMPT
    renderer = create_renderer(
        load_tokenizer(EMBEDDED),
        chat_template=template,
        chat_template_kwargs={"note": note},
        thinking_retention="all",
    )
    bridged = bridge(renderer, BYE)
    assert isinstance(bridged, Bridge)
    assert renderer.tokenizer.decode(bridged.tokens.token_ids).count(note) == 2


def test_an_argument_that_only_a_long_history_writes_after_the_messages_is_refused() -> None:
    template = TURN.replace("[MARK]", "") + "{% endfor %}{% if messages | length > 9 %}{{ note }}{% endif %}" + PROMPT
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template, chat_template_kwargs={"note": "Now!"})
    refused = bridge(renderer, BYE)
    assert isinstance(refused, BridgeRefusal)
    assert refused.reason is BridgeReason.SUFFIX_VARIES


def test_the_date_is_part_of_a_proof_if_the_template_tests_it() -> None:
    mark = "{% if strftime_now('%d') | int > 15 %}{{ loop.index }}{% endif %}"
    clear_proof_caches()
    results = [bridge(renderer_for(mark, date=datetime.datetime(2030, 5, day)), BYE) for day in (10, 20)]
    assert [type(result) for result in results] == [Bridge, BridgeRefusal]


def test_a_date_after_the_messages_is_in_the_suffix() -> None:
    clear_proof_caches()
    for day in (10, 20):
        renderer = renderer_for("{{ strftime_now('%d May') }}", date=datetime.datetime(2030, 5, day))
        bridged = bridge(renderer, BYE)
        assert isinstance(bridged, Bridge)
        assert f"{day} May" in renderer.tokenizer.decode(bridged.tokens.token_ids)


def test_arguments_of_a_call_count_like_those_of_the_renderer(proofs: list[Any]) -> None:
    mark = "{% if message.name == speaker %}{{ loop.index }}{% endif %}"
    plain, new = renderer_for(mark, verify=False), {**BYE, "name": "Eve"}
    results = {}
    for speaker in ("Ada", "Eve"):
        results[speaker] = bridge(renderer_for(mark, chat_template_kwargs={"speaker": speaker}, verify=False), new)
        needed = len(proofs)
        assert bridge(plain, new, speaker=speaker) == results[speaker]
        assert len(proofs) == needed
    assert isinstance(results["Ada"], Bridge)
    assert isinstance(results["Eve"], BridgeRefusal)


def test_an_argument_of_a_call_overrides_that_of_the_renderer() -> None:
    renderer = renderer_for("{{ note }}", chat_template_kwargs={"note": "old"})
    prompt = renderer.render_ids([ASK], add_generation_prompt=True, note="new")
    bridged = renderer.bridge_to_next_turn(prompt, renderer.tokenizer.encode("Hello<|end|>"), [BYE], note="new")
    assert bridged is not None
    conversation = [ASK, {"role": "assistant", "content": "Hello"}, BYE]
    assert bridged.token_ids == renderer.render_ids(conversation, add_generation_prompt=True, note="new")
    assert bridged.token_ids != renderer.render_ids(conversation, add_generation_prompt=True)


@pytest.mark.parametrize("method", ["bridge", "bridge_to_next_turn"])
def test_an_argument_that_the_template_does_not_read_is_an_error(method: str) -> None:
    renderer = renderer_for("")
    with pytest.raises(TypeError, match="'styel' is neither an option"):
        getattr(renderer, method)([1], [2], [BYE], styel="terse")


# ==================
# One proof for all messages of a kind
# ==================


def test_tools_that_are_written_after_turns_without_a_loop_are_refused() -> None:
    # The sample tool would be written in place of them.
    turns = "{{ messages | map(attribute='content') | join('<|end|>') }}<|end|>"
    template = turns + "{{ tools | tojson if tools }}{% for m in messages %}.{% endfor %}"
    renderer = create_renderer(load_tokenizer(EMBEDDED), chat_template=template)
    refused = bridge(renderer, BYE, tools=[tool("a")])
    assert isinstance(refused, BridgeRefusal)
    assert "the template writes the tools after them" in refused.detail


@pytest.mark.parametrize("mark", ["", URGENT, "{% if tools %}{{ tools | tojson }}{% endif %}"])
def test_a_thousand_messages_that_differ_in_an_unread_field_need_one_proof(mark: str, proofs: list[Any]) -> None:
    renderer = renderer_for(mark, verify=False)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Hello<|end|>")
    for number in range(1000):
        message = {**BYE, "content": f"text {number}", "timestamp": number, "trace": {"id": f"t{number}"}}
        assert isinstance(renderer.bridge(prompt, completion, [message]), Bridge)
    assert len(proofs) == 1


@pytest.mark.parametrize(
    "content",
    [
        lambda number: [{"type": "text", "text": f"text {number}", "timestamp": number}],
        lambda number: number,
        lambda number: {"temperature": number, "place": f"place {number}"},
    ],
    ids=["content parts", "numbers", "data"],
)
def test_messages_that_differ_in_the_values_of_their_content_need_one_proof(
    content: Callable[[int], Any], proofs: list[Any]
) -> None:
    renderer = renderer_for(URGENT, verify=False)
    prompt = renderer.render_ids([ASK], add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Hello<|end|>")
    role = "user" if isinstance(content(1), list) else "tool"
    for number in range(1, 101):
        message = {"role": role, "content": content(number)}
        assert isinstance(renderer.bridge(prompt, completion, [message]), Bridge)
    # The completion before a result may be a call that cannot be parsed, or content.
    assert len(proofs) == {"user": 1, "tool": 2}[role]


THINKING = "{% if '</think>' in message.content %}{{ message.content.split('</think>')[-1] }}{% endif %}"


def test_messages_with_the_same_literals_need_one_proof(proofs: list[Any]) -> None:
    renderer = renderer_for(THINKING, verify=False)
    for number in range(100):
        assert isinstance(bridge(renderer, {**BYE, "content": f"text {number}</think>, and {number}"}), Bridge)
    assert len(proofs) == 1


def test_the_cache_keeps_no_long_texts() -> None:
    renderer = renderer_for("{{ message.content | length if message.content | length > 9 }}", verify=False)
    clear_proof_caches()
    long = "a word </think> " * 20_000
    tracemalloc.start()
    for number in range(20):
        bridge(renderer, {**BYE, "content": long + str(number)}, tools=[tool(f"t{number}", description=long)])
    kept = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, "*renderers/bridging/*")])
    tracemalloc.stop()
    assert sum(statistic.size for statistic in kept.statistics("filename")) < 2 * len(long)


def test_equal_renderers_share_a_proof(proofs: list[Any]) -> None:
    for _ in range(3):
        assert isinstance(bridge(renderer_for(URGENT), BYE, tools=[tool("a")]), Bridge)
    assert len(proofs) == 1


# ==================
# Any sequence
# ==================

TRAPS = [
    TOOL_COUNT,
    URGENT,
    "{% if message.level == 'high' %}{{ loop.index }}{% endif %}",
    "{% if message.content | length > 9 %}{{ loop.index }}{% endif %}",
    "{% if message.name and message.name == messages[loop.index0 - 1].name %}{{ loop.index }}{% endif %}",
    "{{ message | length if message.role == 'user' else '' }}",
    "{% if message.content.split('\\n') | length > 1 %}{{ loop.index }}{% endif %}",
]
MESSAGES = st.fixed_dictionaries(
    {"role": st.just("user"), "content": st.sampled_from(["a", "b", "", " a", "a\nb", "a much longer text", "high"])},
    optional={
        "urgent": st.sampled_from([True, False, None, 0, 1, "yes", [], [False]]),
        "level": st.sampled_from(["high", "low", "something else"]),
        "name": st.sampled_from(["Ada", "Eve", "high"]),
        "timestamp": st.integers(),
    },
)
TOOLS = st.sampled_from([None, [tool("a")], [tool("b", strict=True)], [tool("a"), tool("b")]])
STEPS = st.lists(st.tuples(st.lists(MESSAGES, min_size=1, max_size=2), TOOLS), min_size=2, max_size=4)


@settings(max_examples=40, deadline=None)
@given(mark=st.sampled_from(TRAPS), steps=STEPS)
def test_each_bridge_of_a_sequence_equals_that_of_a_fresh_process(mark: str, steps: list[Any]) -> None:
    renderer = renderer_for(mark, verify=False)
    clear_proof_caches()
    results = [bridge(renderer, *new, tools=tools) for new, tools in steps]
    for (new, tools), result in zip(steps, results, strict=True):
        clear_proof_caches()
        assert bridge(renderer, *new, tools=tools) == result
