"""Facts about a model are learned once in a process, whatever renders, parses and bridges with it."""

from __future__ import annotations

import datetime
import gc
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from renderers import EXAMPLE_MODEL, Bridge, ChatRenderer, ChatTemplate, create_renderer, load_tokenizer

LLAMA = "meta-llama/Llama-3.2-1B-Instruct"
QUESTION = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi"}]
MESSAGES = [*QUESTION, {"role": "assistant", "content": "Hello!"}]
NEXT = [{"role": "user", "content": "More"}]

Runs = Callable[[], int]


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Runs:
    """The number of runs of any template since the last call."""
    runs = [0]
    run = ChatTemplate.run

    def counting(self: ChatTemplate, *args: Any, **arguments: Any) -> Any:
        runs[0] += 1
        return run(self, *args, **arguments)

    def count() -> int:
        counted, runs[0] = runs[0], 0
        return counted

    monkeypatch.setattr(ChatTemplate, "run", counting)
    return count


def example_with(lead: str) -> ChatRenderer:
    """Return a renderer of the example model with other template source before that of the model."""
    tokenizer = load_tokenizer(EXAMPLE_MODEL)
    return create_renderer(tokenizer, chat_template=lead + tokenizer.chat_templates["default"])


def dated_example(note: str) -> ChatRenderer:
    """Return a renderer with a template that is unique, so that no other test has probed it."""
    return example_with(f"{{# {note} #}}{{{{ 'Today is ' + date_string if date_string }}}}")


def use(renderer: ChatRenderer) -> int:
    """Render, parse and bridge. Return the number of runs of the template that this needs."""
    renderer.render(MESSAGES)
    prompt = renderer.render_ids(QUESTION, add_generation_prompt=True)
    stop = renderer.get_stop_token_ids()[0]
    completion = [*renderer.tokenizer.encode("Hello!", add_special_tokens=False), stop]
    assert renderer.parse_response(completion, prompt_ids=prompt).content == "Hello!"
    bridged = renderer.bridge(prompt, completion, NEXT)
    # Before a refusal, the template's text of the turn itself is compared with the completion.
    return 3 if isinstance(bridged, Bridge) else 4


@contextmanager
def learning_nothing(counted: Runs) -> Iterator[list[int]]:
    """Check that the template runs as often as the block says by appending numbers to a list."""
    needed: list[int] = []
    counted()
    yield needed
    assert counted() <= sum(needed)


def check_free_text(renderer: ChatRenderer, counted: Runs, *, renders: int) -> None:
    renderer.render(MESSAGES, date_string="1 May 2030")
    with learning_nothing(counted) as needed:
        for number in range(renders):
            date = f"{number} days after 1 May 2030" + ", which is a long time" * (number % 3)
            rendered = renderer.render(MESSAGES, date_string=date)
            assert renderer.render_ids(MESSAGES, date_string=date) == rendered.token_ids
            assert date in renderer.tokenizer.decode(rendered.token_ids)
            needed.append(2)


def test_a_text_for_each_sample_triggers_no_learning(counted: Runs) -> None:
    check_free_text(dated_example("free text"), counted, renders=50)


def test_a_date_for_each_sample_of_llama_triggers_no_learning(counted: Runs, hub: object) -> None:
    renderer = create_renderer(load_tokenizer(LLAMA))
    check_free_text(renderer, counted, renders=1000)
    with learning_nothing(counted) as needed:
        for number in range(20):
            kwargs = {"date_string": f"{number} June 2031"}
            create_renderer(renderer.tokenizer, chat_template_kwargs=kwargs).render(MESSAGES)
            needed.append(1)


def check_bridges_with_free_text(counted: Runs, renderer_with: Callable[[str], ChatRenderer]) -> None:
    """Check that renderers with other texts for an argument learn nothing when they bridge."""
    use(renderer_with("1 May 2030"))
    _ = renderer_with("1 May 2030").is_prefix_stable
    for number in range(20):
        renderer = renderer_with(f"{number} June 2031, which is far away" * (1 + number % 2))
        with learning_nothing(counted) as needed:
            needed.append(use(renderer))
            _ = renderer.is_prefix_stable


def test_a_text_for_each_renderer_needs_no_proofs_of_its_own(counted: Runs) -> None:
    example = dated_example("bridged")
    tokenizer, template = example.tokenizer, example.settings.chat_template
    check_bridges_with_free_text(
        counted,
        lambda text: create_renderer(
            tokenizer, chat_template=template, chat_template_kwargs={"date_string": text}, verify=False
        ),
    )


def test_a_date_string_for_each_renderer_of_llama_needs_no_proofs_of_its_own(counted: Runs, hub: object) -> None:
    tokenizer = load_tokenizer(LLAMA)
    check_bridges_with_free_text(
        counted, lambda text: create_renderer(tokenizer, chat_template_kwargs={"date_string": text})
    )


@pytest.mark.parametrize("name", [LLAMA, "openai/gpt-oss-20b", "mistralai/Mistral-Small-3.2-24B-Instruct-2506"])
def test_a_date_for_each_renderer_triggers_no_learning(name: str, counted: Runs, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    use(create_renderer(tokenizer, date=datetime.datetime(2030, 5, 1)))
    for day in range(1, 4):
        renderer = create_renderer(tokenizer, date=datetime.datetime(2031, 6, day, 7, 8, 9))
        text = renderer.tokenizer.decode(renderer.render_ids(MESSAGES[1:]))
        assert f"0{day} Jun 2031" in text or f"2031-06-0{day}" in text
        with learning_nothing(counted) as needed:
            needed.append(use(renderer))


def check_other_arguments(renderer: ChatRenderer, counted: Runs, arguments: Callable[[int], dict[str, Any]]) -> None:
    """Check that a turn with new values of arguments runs the template for the prompt and for the bridge only."""
    stop = renderer.get_stop_token_ids()[0]
    completion = [*renderer.tokenizer.encode("Hello!", add_special_tokens=False), stop]
    for number in range(4):
        given = arguments(number)
        prompt = renderer.render_ids(QUESTION, add_generation_prompt=True, **given)
        assert str(number + 70) in renderer.tokenizer.decode(prompt)
        assert renderer.parse_response(completion, prompt_ids=prompt).content == "Hello!"
        bridged = renderer.bridge(prompt, completion, NEXT, **given)
        assert isinstance(bridged, Bridge)
        assert bridged.tokens.token_ids[: len(prompt) + len(completion)] == prompt + completion
        assert "More" in renderer.tokenizer.decode(bridged.tokens.token_ids[len(prompt) :])
        assert number == 0 or counted() == 2
        counted()


@pytest.mark.parametrize(
    "lead",
    [
        "{{ persona | trim }}",
        "{{ persona.strip() | upper }}",
        "{% if persona | length > 0 %}{{ persona }}{% endif %}",
        "{% macro lead(text) %}{{ text }}{% endmacro %}{{ lead(persona) }}",
        "{% set ns = namespace(lead='') %}{% set ns.lead = persona %}{{ ns.lead }}",
        "{% for m in messages %}{% if loop.first %}{{ persona }}{% endif %}{% endfor %}",
    ],
)
def test_a_persona_for_each_sample_triggers_no_learning(lead: str, counted: Runs) -> None:
    check_other_arguments(
        example_with(lead), counted, lambda number: {"persona": f"Bob {number + 70}" + ", a friend" * number}
    )


def documents(number: int) -> dict[str, Any]:
    return {"documents": [{"title": f"Title {number + 70}", "text": f"Text {row}. " * 9} for row in range(number + 1)]}


@pytest.mark.parametrize(
    "lead",
    [
        "{{ documents | tojson }}",
        "{% for d in documents %}{{ d.title ~ ': ' ~ d.text }}{% endfor %}",
        "{% for d in documents or [] %}{% for k, v in d.items() %}{{ k ~ v }}{% endfor %}{% endfor %}",
    ],
)
def test_documents_for_each_sample_trigger_no_learning(lead: str, counted: Runs) -> None:
    check_other_arguments(example_with(lead), counted, documents)


def test_documents_for_each_sample_of_granite_trigger_no_learning(counted: Runs, hub: object) -> None:
    check_other_arguments(create_renderer(load_tokenizer("ibm-granite/granite-4.0-h-small")), counted, documents)


def test_an_argument_that_the_template_checks_is_not_replaced() -> None:
    renderer = example_with("{{ raise_exception('no plan') if 'plan' not in notes[0] }}{{ notes[0] }}")
    given: dict[str, Any] = {"notes": ["A plan"]}
    prompt = renderer.render_ids(QUESTION, add_generation_prompt=True, **given)
    # The template writes the end of a turn that was cut off.
    completion = renderer.tokenizer.encode("Hello!", add_special_tokens=False)
    assert isinstance(renderer.bridge(prompt, completion, NEXT, **given), Bridge)


def check_bridges_with_other_tools(renderer: ChatRenderer, counted: Runs) -> None:
    """Check that a bridge with a new list of tools runs the template once, as the render of its prompt does."""
    stop = renderer.get_stop_token_ids()[0]
    completion = [*renderer.tokenizer.encode("Hello!", add_special_tokens=False), stop]
    for number in range(3):
        parameters = {"type": "object", "properties": {f"field_{number}": {"type": "string"}}}
        function = {"name": f"tool_{number}", "description": f"Tool {number}.", "parameters": parameters}
        tools = [{"type": "function", "function": function}] * (number + 1)
        prompt = renderer.render_ids(QUESTION, tools=tools, add_generation_prompt=True)
        bridged = renderer.bridge(prompt, completion, NEXT, tools=tools)
        assert isinstance(bridged, Bridge)
        added = renderer.tokenizer.decode(bridged.tokens.token_ids[len(prompt) :])
        assert "More" in added
        assert "tool_" not in added
        assert number == 0 or counted() == 2
        counted()


def test_tools_for_each_sample_need_no_proofs_of_their_own(counted: Runs) -> None:
    check_bridges_with_other_tools(create_renderer(EXAMPLE_MODEL), counted)


@pytest.mark.parametrize("name", [LLAMA, "Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air", "google/gemma-4-31B-it"])
def test_tools_for_each_sample_of_real_models_need_no_proofs_of_their_own(
    name: str, counted: Runs, hub: object
) -> None:
    renderer = create_renderer(load_tokenizer(name), thinking_retention="all")
    check_bridges_with_other_tools(renderer, counted)


def check_shared(renderer: ChatRenderer, counted: Runs) -> None:
    use(renderer)
    settings, pickled = renderer.settings, pickle.dumps(renderer)
    with learning_nothing(counted) as needed:
        same = create_renderer(renderer.tokenizer, chat_template=settings.chat_template, date=settings.date)
        needed.append(use(same))
        del same
        needed.append(use(pickle.loads(pickled)))
        del renderer
        gc.collect()
        # Nothing keeps the first renderer now, so this one is new.
        needed.append(use(pickle.loads(pickled)))


def test_renderers_and_copies_share_what_was_learned(counted: Runs) -> None:
    check_shared(dated_example("shared"), counted)


@pytest.mark.parametrize("name", [LLAMA, "Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air", "openai/gpt-oss-20b"])
def test_renderers_and_copies_of_real_models_share_what_was_learned(name: str, counted: Runs, hub: object) -> None:
    # Without a date, each renderer of some models runs the template once more, to find the default date.
    check_shared(create_renderer(load_tokenizer(name), date="2024-07-26"), counted)


HOURS = (
    "{% for m in messages %}<|turn|>{{ m.role ~ strftime_now(' %H') }}\n{{ m.content }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant{{ strftime_now(' %H') }}\n{% endif %}"
)


def test_the_same_instant_in_two_time_zones_is_learned_twice() -> None:
    noon = datetime.datetime(2025, 1, 1, 12, tzinfo=datetime.UTC)
    dates = noon, noon.astimezone(datetime.timezone(datetime.timedelta(hours=3)))
    renderers = [create_renderer(EXAMPLE_MODEL, chat_template=HOURS, date=date) for date in dates]
    headers = [renderer.resolution.grammar.header for renderer in renderers]
    assert headers == ["<|turn|>assistant 12\n", "<|turn|>assistant 15\n"]
    assert renderers[0] != renderers[1]
    for renderer in renderers:
        prompt = renderer.render_ids(QUESTION, add_generation_prompt=True)
        completion = renderer.tokenizer.encode("Hello!<|end|>", add_special_tokens=False)
        assert isinstance(renderer.bridge(prompt, completion, NEXT), Bridge)
        assert pickle.loads(pickle.dumps(renderer)).render_ids(MESSAGES) == renderer.render_ids(MESSAGES)


class Characters:
    """A tokenizer object that encodes each character on its own."""

    name_or_path, eos_token, eos_token_id, unk_token_id, bos_token = "characters", None, None, None, None
    chat_template = "{% for m in messages %}{{ m.role }}: {{ m.content }}{% endfor %}"

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return list(map(ord, text))

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(map(chr, ids))

    def convert_tokens_to_ids(self, token: str) -> int | None:
        return ord(token) if len(token) == 1 else None


class Pairs(Characters):
    """A tokenizer object that encodes pairs of characters."""

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return [ord(text[at]) + (ord(text[at + 1]) << 12 if at + 1 < len(text) else 0) for at in range(0, len(text), 2)]

    def decode(self, ids: list[int], **_: Any) -> str:
        return "".join(chr(pair & 4095) + (chr(pair >> 12) if pair >> 12 else "") for pair in ids)

    def convert_tokens_to_ids(self, token: str) -> int | None:
        return None


def test_two_tokenizer_objects_share_nothing_that_was_learned() -> None:
    assert create_renderer(Characters()).is_prefix_stable
    assert not create_renderer(Pairs()).is_prefix_stable
