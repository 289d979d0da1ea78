"""Append the tokens of a suffix to a rollout."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

from renderers.bridging.context import BridgeContext
from renderers.bridging.prior import Prior
from renderers.bridging.suffix import Suffix, SuffixText
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import extract_message_tool_names
from renderers.core.spans import Channel
from renderers.core.text import compile_alternation
from renderers.core.token_ids import as_packed_ids
from renderers.core.tokens import Attribution, RenderedTokens, TokenRun

_BOUNDARY = 8
"""The number of tokens that are decoded to check whether a text after them changes the last one."""


def keeps_last_token(context: BridgeContext, prior: Prior, text: str) -> bool:
    """Return True if the last ids of the rollout stay the same with a text after them."""
    ids = [*prior.prompt_end(_BOUNDARY), *prior.completion[-_BOUNDARY:]][-_BOUNDARY:]
    joined = [*ids[-2:], *context.encode(text)]
    return context.encode(context.tokenizer.decode(ids) + text)[-len(joined) :] == joined


def join_tokens(
    context: BridgeContext, prior: Prior, new: Sequence[JsonObject], suffix: Suffix
) -> tuple[array[int], RenderedTokens]:
    """Return all ids of the extended rollout, and the same ids with their attribution.

    The ids are the array of the prompt, which is extended.
    """
    # The tokens after a special token do not depend on the text before it.
    text = SuffixText(context.pipeline.settings, suffix.lead, suffix.followed, suffix.end)
    encoded = text.encoded
    first = 1 + _tokens_after_stop(context, prior, text.text, encoded.ids) if suffix.begins_with_stop else 0
    before = len(prior.prompt) + len(prior.completion)
    all_ids = prior.prompt
    all_ids += as_packed_ids(prior.completion, name="completion")
    all_ids += encoded.ids[first:] if first else encoded.ids
    moved, called = before - first, prior.state.calls

    def attribute() -> Attribution:
        # A result gets its name from the message or from the model's call.
        calls = [{"id": id_, "function": {"name": name}} for id_, name in called if id_ and name]
        turn = {"role": "assistant", "tool_calls": calls}
        runs, _, injected, _, lists_content = text.attribute()
        added = [run._replace(end=run.end + moved) for run in runs if run.end > first]
        return Attribution(
            # There are no runs if a custom tokenizer provides no offsets.
            (TokenRun(before, -1, Channel.SCAFFOLD, False, False), *added) if runs else (),
            injected=[token._replace(start=token.start + moved, end=token.end + moved) for token in injected],
            tool_names=extract_message_tool_names([turn, *new])[1:],
            lists_content=lists_content,
        )

    tokens = RenderedTokens.of_encoded(
        all_ids,
        attribute,
        message_roles=[message["role"] for message in new],
        decode=context.tokenizer.decode,
        find_losses=suffix.followed.losses,
    )
    return all_ids, tokens


def _tokens_after_stop(context: BridgeContext, prior: Prior, added: str, ids: Sequence[int]) -> int:
    """Return how many tokens of the suffix after the stop token the completion already contains.

    A completion that was cut out of a render may contain the line break that the template writes after the stop
    token. It must be all text up to the next special token, else its tokens differ. `ids` include the stop token.
    """
    stop = prior.state.stop_token_id
    if stop is None or stop in prior.completion[-1:]:
        return 0
    pattern = compile_alternation(context.special_tokens)
    pieces = pattern.split(added, maxsplit=2) if pattern else []
    between = context.encode(pieces[1]) if len(pieces) == 3 else []
    _, after = prior.around_stop
    return len(between) if after == between and list(ids[1 : 1 + len(between)]) == between else 0
