"""`Rollout`: sample the turns of a conversation, and keep every sampled token with its logprob."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Self, get_args

from renderers.bridging.refusal import BridgeReason, BridgeRefusal
from renderers.client.completion import Completion
from renderers.client.offload import LONG_COMPLETION, is_long_text, offload_long_work
from renderers.client.sampling import read_sampling_params
from renderers.core.arguments import check_mapping, check_renderer
from renderers.core.completions import ParsedResponse
from renderers.core.inputs import MessageLike, ToolLike
from renderers.core.jsontypes import JsonObject
from renderers.core.messages import normalise_tools
from renderers.core.protocols import Renderer
from renderers.errors import RolloutError, RolloutFileError, TemplateError
from renderers.rollout.files import read_rollouts
from renderers.rollout.inline_fields import InlineFields
from renderers.rollout.matching import find_edit, find_history, with_recorded_ids
from renderers.rollout.position import Added, OnLength, Position, RolloutOptions
from renderers.rollout.prompts import bridge_ids, check_same_prompt, copy_messages, render_prompt_ids
from renderers.rollout.recorded import RecordedRollout
from renderers.rollout.sampler import RolloutClient, check_client, check_reply, sample_from
from renderers.rollout.trajectory import Prompt, Trajectory, Turn

_METHODS = ("render_ids", "get_stop_token_ids")
"""The methods of a renderer that every rollout needs."""


class Rollout(RecordedRollout):
    """A conversation with sampled turns. It keeps every sampled token, its logprob and its weight version.

    `generate` samples a turn, and `add` appends the messages that follow it. `rows` returns the training rows. Copies
    and pickles have no client: set `client` to go on.

    >>> import asyncio
    >>> from renderers import EXAMPLE_MODEL, Completion, create_renderer
    >>> renderer = create_renderer(EXAMPLE_MODEL)
    >>> async def sample(prompt_ids, *, sampling_params):
    ...     ids = renderer.tokenizer.encode("Hello!<|end|>", add_special_tokens=False)
    ...     return Completion(token_ids=ids, logprobs=[-0.5] * len(ids), finish_reason="stop")
    >>> rollout = Rollout(renderer, sample, [{"role": "user", "content": "Hi"}])
    >>> asyncio.run(rollout.generate()).parsed.content
    'Hello!'
    >>> [row] = rollout.rows(reward=1.0)
    >>> renderer.tokenizer.decode([token for token in row.labels() if token != -100])
    'Hello!<|end|>'
    """

    renderer: Renderer | None
    """The renderer. None if the rollout was loaded without one."""

    def __init__(
        self,
        renderer: Renderer,
        client: RolloutClient | None,
        messages: Iterable[MessageLike],
        *,
        tools: Iterable[ToolLike] | None = None,
        sampling_params: Mapping[str, Any] | None = None,
        chat_template_kwargs: Mapping[str, Any] | None = None,
        max_total_tokens: int | None = None,
        on_length: OnLength = "close",
        model: str | None = None,
    ) -> None:
        """Start a rollout with the messages before the first sampled turn.

        Args:
            renderer: A renderer. A renderer without the method `bridge` gives no reasons for refusals.
            client: An object with an async method `sample`, such as an `InferenceClient`, or an async function with
                the same arguments, or an `AsyncOpenAI` client of a vLLM server. None if completions are passed to
                `record`.
            messages: The conversation. It is copied. A long one is rendered by `generate`, in a thread.
            tools: The tools of the conversation.
            sampling_params: The sampling parameters of all turns. The stop tokens of the renderer are added.
            chat_template_kwargs: Template arguments, such as `{"enable_thinking": False}`.
            max_total_tokens: The largest number of tokens of a prompt and its completion. The parameters `max_tokens`
                and `min_tokens` of each turn are reduced to it.
            on_length: `"close"` to go on after a turn that was cut off by `max_tokens`, or aborted or stopped for its
                repetitions by the engine: the next bridge closes it with tokens that are not sampled. `"stop"` to end
                the rollout there.
            model: The model that an `AsyncOpenAI` client samples from, such as a LoRA adapter. None for the base model
                of the server. An `InferenceClient` has its own argument `model`.

        Raises:
            MessageError, TemplateError, ...: As `renderer.render_ids`.
            TypeError: The client cannot sample, or is synchronous. Or another argument has a wrong type.
            ValueError: `max_total_tokens`, `on_length` or a sampling parameter is invalid, or there is a `model` and
                another client than an `AsyncOpenAI` client.
        """
        check_renderer(renderer, _METHODS)
        if on_length not in get_args(OnLength):
            raise ValueError(f"on_length must be one of {', '.join(map(repr, get_args(OnLength)))}, not {on_length!r}")
        if max_total_tokens is not None and (type(max_total_tokens) is not int or max_total_tokens < 1):
            raise ValueError(f"max_total_tokens must be a positive number of tokens, not {max_total_tokens!r}")
        options = RolloutOptions(
            tools=normalise_tools(tools),
            sampling_params=read_sampling_params(sampling_params),
            chat_template_kwargs=check_mapping("chat_template_kwargs", chat_template_kwargs),
            max_total_tokens=max_total_tokens,
            on_length=on_length,
            stop_token_ids=tuple(renderer.get_stop_token_ids()),
            model=model,
        )
        self.renderer, self._client = renderer, check_client(client, model=model)
        self._inline_fields = InlineFields()
        position = Position(Prompt(parent=None, messages=tuple(copy_messages(messages)), token_ids=[]), None)
        super().__init__(options, Trajectory(), position, lineage=(0,))
        self._position = self._rendered_unless_long(position)

    @classmethod
    def _create(
        cls,
        renderer: Renderer | None,
        client: RolloutClient | None,
        options: RolloutOptions,
        trajectory: Trajectory,
        position: Position,
        *,
        lineage: tuple[int, ...],
    ) -> Self:
        """Return a rollout at any position.

        Raises:
            RolloutError: The renderer is for another model than the options, or the client cannot sample from their
                model.
        """
        stops = None if renderer is None else tuple(renderer.get_stop_token_ids())
        if stops not in (None, options.stop_token_ids):
            raise RolloutError(
                f"the renderer has the stop tokens {stops}, and the rollout was sampled with {options.stop_token_ids}. "
                "Pass a renderer of the same model."
            )
        try:
            check_client(client, model=options.model)
        except ValueError as error:
            raise RolloutError(str(error)) from error
        rollout = object.__new__(cls)
        rollout.renderer, rollout._client, rollout._inline_fields = renderer, client, InlineFields()
        RecordedRollout.__init__(rollout, options, trajectory, position, lineage=lineage)
        return rollout

    @classmethod
    def _read(
        cls, path: str | os.PathLike[str], renderer: Renderer | None, client: RolloutClient | None
    ) -> Iterator[Self]:
        """Yield the rollouts of a file.

        Raises:
            RolloutFileError, OSError: As `read_rollouts`.
            RolloutError: As `_create`, or the renderer gives another first prompt.
            TypeError: The client cannot sample, or is synchronous. Or the renderer is none.
        """
        if renderer is not None:
            check_renderer(renderer, _METHODS)
        for rollout in read_rollouts(path, functools.partial(cls._create, renderer, check_client(client))):
            if renderer is not None:
                check_same_prompt(renderer, rollout._first_prompt, rollout._options)
            yield rollout

    @property
    def client(self) -> RolloutClient | None:
        """The inference client. None in copies and pickles. Forks without a client get the one that is set."""
        return self._client

    @client.setter
    def client(self, client: RolloutClient | None) -> None:
        rollouts = [each for each in self.self_and_forks() if each is self or each._client is None]
        for rollout in rollouts:
            check_client(client, model=rollout.model)
        for rollout in rollouts:
            rollout._client = client

    @property
    def model(self) -> str | None:
        """The model that an `AsyncOpenAI` client samples from. None for the base model of the server."""
        return self._options.model

    @model.setter
    def model(self, model: str | None) -> None:
        check_client(self.client, model=model)
        self._options = dataclasses.replace(self._options, model=model)

    @property
    def prompt_ids(self) -> list[int]:
        """The ids that the next turn is sampled from. After a turn: the ids that it was sampled from."""
        self._position = self._rendered(self._position)
        return list(_ids_of(self._position))

    @property
    def sampling_params(self) -> dict[str, Any]:
        """The sampling parameters of the next turn, with the stop tokens and the limit of `max_total_tokens`.

        Raises:
            RolloutError: The rollout has stopped.
        """
        length = len(self.prompt_ids)
        self._check_not_stopped()
        return self._options.sampling_params_for(length, {})

    # ==================
    # Sampling
    # ==================

    async def generate(self, *, sampling_params: Mapping[str, Any] | None = None) -> Turn | None:
        """Sample the next turn. Return None if the rollout has stopped: `stop_reason` gives the reason.

        If the call is cancelled or fails, the rollout stays as it was after its last turn.

        Args:
            sampling_params: Parameters of this turn. They take precedence over those of the rollout.

        Raises:
            RolloutError: There is no client or no renderer, the last turn has no messages after it, or another call
                is running.
            MalformedGenerateResponseError: A sampled id has no logprob, or the completion is for another prompt.
            TypeError, ValueError: A sampling parameter is invalid.
            Exception: The errors of the client, and those of `renderer.render_ids`.
        """
        own_params = read_sampling_params(sampling_params)
        if self.client is None:
            raise RolloutError("the rollout has no client. Set its attribute client, or pass completions to record.")
        if self._stopped is not None:
            return None
        self._check_open()
        with self._sampling():
            position = self._position
            if position.prompt_ids is None:
                work = functools.partial(self._rendered, position)
                position = self._position = await offload_long_work(self._renderer, work, is_long=True)
            if self.stop_reason is not None:
                return None
            ids = _ids_of(position)
            params = self._options.sampling_params_for(len(ids), own_params)
            completion = await sample_from(self.client, ids, params, model=self.model)
            parse = functools.partial(self._parse, ids, completion)
            is_long = len(completion.token_ids) > LONG_COMPLETION
            return self._append(completion, await offload_long_work(self._renderer, parse, is_long=is_long))

    def record(self, completion: Completion) -> Turn:
        """Append a turn that was sampled from `prompt_ids` elsewhere, such as by a synchronous client.

        Raises:
            RolloutError: The rollout has stopped, the last turn has no messages after it, or `generate` is running.
            MalformedGenerateResponseError: A sampled id has no logprob, or the completion is for another prompt.
        """
        self._check_idle()
        self._position = self._rendered(self._position)
        self._check_not_stopped()
        self._check_open()
        with self._sampling():
            ids = _ids_of(self._position)
            completion = check_reply(completion, ids)
            return self._append(completion, self._parse(ids, completion))

    def _parse(self, prompt_ids: list[int], completion: Completion) -> ParsedResponse:
        return self._renderer.parse_response(completion.token_ids, tools=self._options.tools, prompt_ids=prompt_ids)

    def _append(self, completion: Completion, parsed: ParsedResponse) -> Turn:
        """Append a turn to the trajectory. Nothing in here waits or fails, so no turn is recorded in part."""
        prompt, turns = self._position.prompt, self._trajectory.turns
        turn = Turn(
            number=len(turns),
            rollout=self.number,
            prompt=prompt,
            completion=completion,
            parsed=parsed,
            message=dict(parsed.to_message()),
        )
        turns.append(turn)
        self._position = self._position._replace(turn=turn)
        self._stopped = self._options.stop_reason_after(turn)
        return turn

    @contextlib.contextmanager
    def _sampling(self) -> Iterator[None]:
        self._check_idle()
        self._is_sampling = True
        try:
            yield
        finally:
            self._is_sampling = False

    def _check_not_stopped(self) -> None:
        if self.stop_reason is not None:
            raise RolloutError(
                f"the rollout has stopped ({self.stop_reason}), so it takes no more turns. Check stop_reason before "
                "you sample."
            )

    def _check_open(self) -> None:
        self._check_idle()
        if self._position.turn is not None:
            raise RolloutError(
                "the last turn has no messages after it. Call add or sync first, or rewind to sample the turn again."
            )

    # ==================
    # Messages
    # ==================

    def add(self, messages: Iterable[MessageLike]) -> Added:
        """Append the messages that follow the last turn: tool results, or the next user message.

        Their tokens are appended by a bridge. If the bridge is refused, the conversation is rendered again and a new
        branch begins. A long one is rendered by the next call of `generate`, in a thread.

        Raises:
            MessageError, TemplateError, ...: As `renderer.bridge` and `render_ids`. The rollout is unchanged then.
            RolloutError: `generate` is running, or there is no renderer.
        """
        self._check_idle()
        new, position = copy_messages(messages), self._position
        if position.turn is None:
            # Nothing was sampled from the prompt, so it is replaced.
            new = [*position.prompt.messages, *new]
            if position.prompt.parent is None:
                refusal = position.prompt.refusal
                self._position = self._start(new, after=position.prompt.rendered_after, refusal=refusal)
                return Added(False, refusal)
            position = self._after(self._trajectory.turns[position.prompt.parent])
        return self._extend(position, new, lambda: [*self._messages_at(position), *new])

    def sync(self, messages: Iterable[MessageLike]) -> Added:
        """Continue from a conversation that a harness owns: all messages before the next turn.

        Messages are compared with the sampled turns. An assistant message that differs from a sampled one only by
        normalisation is recognised: trimmed text, missing reasoning, reasoning or calls in the content as the model
        writes them, another layout of JSON arguments, other ids of calls. Its tokens are kept, and the messages after
        the last recognised turn are added to it as in `add`. If there is none, the conversation is rendered and a new
        branch begins. `edited` of the result is the index of the first message that differs from the rollout.

        Raises:
            MessageError, TemplateError, ...: As `add`.
            RolloutError: `generate` is running, or there is no renderer.
        """
        self._check_idle()
        known = self._trajectory.turns_known_to(self._lineage)
        conversation = self._inline_fields.split(copy_messages(messages), known, self._renderer, self._options.tools)
        history = find_history(known, conversation, latest=self._branch_turns)
        edited = find_edit(conversation, self._messages_at(self._position))
        if history is None:
            self._position, self._stopped = self._start(conversation), None
            return Added(False, edited=edited)
        turn = history.turn
        position = self._after(turn)
        conversation = with_recorded_ids(conversation, self._messages_at(position))
        new = conversation[history.end :]
        if new:
            added = self._extend(position, new, lambda: conversation)
        else:
            self._position, added = position, Added(True)
        self._stopped = self._options.stop_reason_after(turn)
        return added._replace(edited=edited)

    def _extend(
        self, position: Position, new: Sequence[JsonObject], conversation: Callable[[], Sequence[JsonObject]]
    ) -> Added:
        """Append new messages to a turn by a bridge, or render the whole conversation."""
        turn, prompt_ids = position.turn, _ids_of(position)
        assert turn is not None
        ids, refusal = bridge_ids(self._renderer, prompt_ids, turn.token_ids, new, self._options)
        if ids is None:
            self._position = self._start(conversation(), after=turn.number, refusal=refusal)
            return Added(False, refusal)
        prompt = Prompt(parent=turn.number, messages=tuple(new), token_ids=ids[turn.end :], start=turn.end)
        self._position = Position(prompt, ids)
        return Added(True)

    def _start(
        self, messages: Sequence[JsonObject], *, after: int | None = None, refusal: BridgeRefusal | None = None
    ) -> Position:
        """Return the position after a whole conversation, rendered unless it is long."""
        prompt = Prompt(parent=None, messages=tuple(messages), token_ids=[], rendered_after=after, refusal=refusal)
        return self._rendered_unless_long(Position(prompt, None))

    def _rendered_unless_long(self, position: Position) -> Position:
        return position if is_long_text(position.prompt.messages) else self._rendered(position)

    def _rendered(self, position: Position) -> Position:
        """Return a position with the ids of its prompt."""
        if position.prompt_ids is not None:
            return position
        refusal = position.prompt.refusal
        try:
            ids = render_prompt_ids(self._renderer, position.prompt.messages, self._options)
        except TemplateError as error:
            if refusal is not None and refusal.reason == BridgeReason.MESSAGE_REFUSED:
                # The template may name a sampled turn, which the caller cannot change, in place of a new message.
                error.add_note(f"Without a bridge: {error}")
                error.args = (refusal.detail, *error.args[1:])
            raise
        return Position(dataclasses.replace(position.prompt, token_ids=ids), ids)

    @property
    def _renderer(self) -> Renderer:
        if self.renderer is None:
            raise RolloutError("the rollout has no renderer. Pass one to Rollout.load, or set its attribute renderer.")
        return self.renderer

    # ==================
    # Branches
    # ==================

    def fork(self, count: int) -> list[Self]:
        """Return rollouts that continue from here, each on its own: several completions of one prompt.

        They share the client and all turns up to here. `rows` of this rollout returns the rows of its forks as well.

        Raises:
            ValueError: `count` is not a positive number.
            RolloutError: `generate` is running.
        """
        if type(count) is not int or count < 1:
            raise ValueError(f"count must be a positive number of forks, not {count!r}")
        self._check_idle()
        # The forks share the rendered ids.
        self._position = self._rendered(self._position)
        return [self._fork() for _ in range(count)]

    def _fork(self) -> Self:
        lineage = (*self._lineage, self._trajectory.start_fork())
        fork = self._create(
            self.renderer, self.client, self._options, self._trajectory, self._position, lineage=lineage
        )
        fork._stopped = self._stopped
        self.forks.append(fork)
        return fork

    # ==================
    # Storage
    # ==================

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        renderer: Renderer | None = None,
        client: RolloutClient | None = None,
    ) -> Self:
        """Read a rollout from a file. `rows` and all other reading works without a renderer and a client.

        Args:
            path: A file that `save` has written.
            renderer: The same renderer as before, to go on with the rollout.
            client: An inference client, to go on with the rollout.

        Raises:
            RolloutFileError: The file is cut off, or is not a file of rollouts, or has none or several. Names the line.
            RolloutError: The renderer is for another model or has other options: it has other stop tokens, or gives
                another first prompt. Or the rollout has a `model`, and the client is no `AsyncOpenAI` client.
            TypeError: The client cannot sample, or is synchronous. Or the renderer is none.
            OSError: The file cannot be read.
        """
        rollouts = list(cls._read(path, renderer, client))
        if not rollouts:
            raise RolloutFileError(f"{os.fspath(path)} is empty: it has no rollout")
        if len(rollouts) > 1:
            raise RolloutFileError(f"{os.fspath(path)} has {len(rollouts)} rollouts: use load_rollouts")
        return rollouts[0]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_client": None, "_inline_fields": InlineFields()}


def _ids_of(position: Position) -> list[int]:
    assert position.prompt_ids is not None
    return position.prompt_ids
