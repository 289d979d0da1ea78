"""Random conversations, and a check of the training samples that are built from them."""

from __future__ import annotations

import random
from typing import Any

from renderers import ChatRenderer, MessageError, RenderedTrainingSample, TemplateError, build_training_samples
from renderers.core.tokens import RenderedTokens

__all__ = ["TOOLS", "as_few_rows", "problem_of", "random_chat"]

Message = dict[str, Any]

FUNCTION = {"name": "search", "description": "Searches.", "parameters": {"type": "object", "properties": {}}}
TOOLS: list[Message] = [{"type": "function", "function": FUNCTION}]
QUESTIONS = "Hi", "What <b>now</b>?", "Go on.", "<tool_response>\nx\n</tool_response>"
ANSWERS = "Yes.", "No, it is not.", "\n\nSo", "a < b", "It is é 🙂"
THOUGHTS = "Hm.", "Let me think.\n\nSo."


def random_chat(chance: random.Random, *, turns: int) -> list[Message]:
    """Return a conversation with a number of assistant messages: answers and calls, with and without reasoning."""
    messages = [{"role": "system", "content": "Be brief."}] if chance.random() < 0.5 else []
    reasons, calls = chance.choice((0.0, 0.5, 1.0)), chance.choice((0.0, 0.3, 0.8))
    asked = True
    for number in range(turns):
        if asked:
            messages.append({"role": "user", "content": chance.choice(QUESTIONS if number else QUESTIONS[:3])})
        answer = {"role": "assistant", "content": chance.choice(ANSWERS)}
        if chance.random() < reasons:
            answer["reasoning_content"] = chance.choice(THOUGHTS)
        elif chance.random() < 0.1:
            answer["content"] = f"<think>\n{chance.choice(THOUGHTS)}\n</think>\n\n{answer['content']}"
        messages.append(answer)
        asked = chance.random() >= calls
        if not asked:
            messages += _call(answer, chance, number)
    return messages if chance.random() < 0.3 or asked else messages[:-1]


def _call(answer: Message, chance: random.Random, number: int) -> list[Message]:
    """Add a call to an answer, and return its result."""
    call_id = f"call{number:05}"
    function = {"name": "search", "arguments": {"query": chance.choice(QUESTIONS)}}
    answer["tool_calls"] = [{"id": call_id, "type": "function", "function": function}]
    answer["content"] = chance.choice(("", answer["content"]))
    return [{"role": "tool", "tool_call_id": call_id, "name": "search", "content": chance.choice(("1", "found"))}]


def problem_of(
    renderer: ChatRenderer, messages: list[Message], samples: list[RenderedTrainingSample], **options: Any
) -> str | None:
    """Return a description of an error in the samples of a conversation; None if they are right."""
    places: dict[int, list[RenderedTrainingSample]] = {}
    for sample in samples:
        for turn in sample.turns:
            places.setdefault(turn.message, []).append(sample)
        trained = {message for message, mask in zip(sample.message_indices, sample.loss_mask, strict=True) if mask}
        if trained != {turn.message for turn in sample.turns}:
            return "trained tokens belong to other messages than the turns"
        if not _is_render(renderer, messages, sample, **options):
            return f"the row that ends with message {sample.turns[-1].message} is not a render of its prefix"
    for index, message in enumerate(messages):
        if message["role"] == "assistant":
            problem = _turn_problem(renderer, messages, index, places.get(index, []), **options)
            if problem is not None:
                return f"message {index}: {problem}"
    return None


def _is_render(renderer: ChatRenderer, messages: list[Message], sample: RenderedTrainingSample, **options: Any) -> bool:
    """Return True if a row is a render up to its last turn, whether or not a stop token is appended."""
    last = sample.turns[-1]
    rendered = renderer.render(messages[: last.message + 1], **options)
    ids = sample.token_ids
    if ids == rendered.token_ids or ids[:-1] == rendered.token_ids[: len(ids) - 1]:
        return True
    # The turn changes the messages before it: they are those of its prompt.
    prompt = renderer.render_ids(messages[: last.message], add_generation_prompt=True, **options)
    return ids == prompt + rendered.token_ids[_sampled(rendered, last.message)[0] :]


def _turn_problem(
    renderer: ChatRenderer,
    messages: list[Message],
    index: int,
    samples: list[RenderedTrainingSample],
    **options: Any,
) -> str | None:
    """Compare a turn with a render of the messages up to it, and with its generation prompt."""
    try:
        rendered = renderer.render(messages[: index + 1], **options)
    except TemplateError:
        return None
    sampled = _sampled(rendered, index)
    if len(samples) != bool(sampled):
        return f"it is trained {len(samples)} times"
    for sample in samples:
        (turn,) = (turn for turn in sample.turns if turn.message == index)
        columns = zip(sample.token_ids, sample.loss_mask, sample.message_indices, strict=True)
        trained = [token for token, mask, message in columns if mask and message == index]
        own = [rendered.token_ids[place] for place in sampled]
        if trained != own and not (trained[:-1] == own and trained[-1] in renderer.get_stop_token_ids()):
            return "its trained tokens are not its sampled tokens"
        context = sample.token_ids[: turn.start]
        prompt = _prompt(renderer, messages[:index], **options)
        if turn.follows_prompt is None and prompt is not None:
            return "it has a prompt that was not compared"
        if not turn.follows_prompt and context != rendered.token_ids[: sampled[0]]:
            return "its context is not that of the render"
        if turn.follows_prompt and context != prompt and not _merges(renderer, rendered, prompt or []):
            return "its context is not its prompt"
    return None


def _prompt(renderer: ChatRenderer, messages: list[Message], **options: Any) -> list[int] | None:
    try:
        return renderer.render_ids(messages, add_generation_prompt=True, **options) if messages else None
    except (MessageError, TemplateError):
        return None


def _merges(renderer: ChatRenderer, rendered: RenderedTokens, prompt: list[int]) -> bool:
    """Return True if the text of a render begins with that of a prompt, but a token crosses its end."""
    text, start = (renderer.tokenizer.decode(ids) for ids in (rendered.token_ids, prompt))
    return text.startswith(start) and bool(rendered.straddling_tokens())


def _sampled(rendered: RenderedTokens, index: int) -> list[int]:
    columns = zip(rendered.sampled_mask, rendered.message_indices, strict=True)
    return [place for place, (sampled, message) in enumerate(columns) if sampled and message == index]


def as_few_rows(renderer: ChatRenderer, messages: list[Message], **options: Any) -> int:
    """Return the smallest number of rows: that of the turns that no later turn has in its context."""
    turns = [index for index, message in enumerate(messages) if message["role"] == "assistant"]
    rows = [build_training_samples(renderer, messages[: turn + 1], turns="last", **options) for turn in turns]
    own = [sample.token_ids[: sample.turns[-1].end] for samples in rows for sample in samples]
    return sum(not any(later[: len(ids)] == ids for later in own[at + 1 :]) for at, ids in enumerate(own))
