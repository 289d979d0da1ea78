"""`Trajectory`: the prompts and the sampled turns of a rollout and its forks, as a tree that only grows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field

from renderers.bridging.refusal import BridgeRefusal
from renderers.client.completion import Completion
from renderers.core.completions import ParsedResponse
from renderers.core.jsontypes import JsonObject


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """Messages and their tokens, up to the start of an assistant turn. Several turns can be sampled from one prompt."""

    parent: int | None
    """The number of the turn that the tokens are appended to. None if the prompt is a rendered conversation."""
    messages: tuple[JsonObject, ...]
    """The messages that a bridge appended, or all messages of a rendered conversation."""
    token_ids: list[int]
    """The tokens that a bridge appended, or all tokens of a rendered conversation."""
    start: int = 0
    """The number of tokens before them."""
    rendered_after: int | None = None
    """The number of the turn after which the conversation was rendered again. None if it was not."""
    refusal: BridgeRefusal | None = None
    """The reason why the conversation was rendered again. None if it was not, or if the renderer gives no reason."""

    def __repr__(self) -> str:
        return f"Prompt(<{len(self.messages)} messages>, <{len(self.token_ids)} tokens>, follows={self.follows!r})"

    @property
    def follows(self) -> int | None:
        """The number of the turn before the messages, with its tokens or rendered again. None if there is none."""
        return self.rendered_after if self.parent is None else self.parent

    @property
    def end(self) -> int:
        """The number of tokens up to the start of the assistant turn."""
        return self.start + len(self.token_ids)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """A sampled assistant turn."""

    number: int
    """The position in `Trajectory.turns`."""
    rollout: int
    """The number of the rollout that sampled the turn: 0, or that of a fork."""
    prompt: Prompt
    completion: Completion
    parsed: ParsedResponse
    message: JsonObject
    """The message of the turn: `parsed.to_message()`."""

    def __repr__(self) -> str:
        # The ids and logprobs of a turn would fill pages.
        return (
            f"Turn(number={self.number}, rollout={self.rollout}, <{self.prompt.end} tokens before it>, "
            f"<{len(self.token_ids)} tokens>, finish_reason={self.completion.finish_reason!r}, "
            f"message={self.message!r})"
        )

    @property
    def token_ids(self) -> list[int]:
        """The sampled ids."""
        return self.completion.token_ids

    @property
    def logprobs(self) -> list[float]:
        """The logprob of each sampled id."""
        return self.completion.logprobs

    @property
    def end(self) -> int:
        """The number of tokens up to the end of the turn."""
        return self.prompt.end + len(self.completion.token_ids)


@dataclass(frozen=True)
class Branch:
    """Turns in one context: the ids of each turn begin with those of the turn before it."""

    prompt: Prompt
    """The rendered conversation that the branch begins with."""
    turns: tuple[Turn, ...]
    shared_turns: int = 0
    """The number of turns at the start that an earlier branch has too."""

    def __repr__(self) -> str:
        numbers = [turn.number for turn in self.turns]
        return f"Branch({self.prompt!r}, turns={numbers}, shared_turns={self.shared_turns})"

    @property
    def refusal(self) -> BridgeRefusal | None:
        """The reason why the branch begins with a rendered conversation. None if there was no bridge before it."""
        return self.prompt.refusal

    @property
    def follows(self) -> int | None:
        """The number of the turn of another branch that the rendered conversation continues. None if there is none."""
        return self.prompt.rendered_after

    @property
    def token_ids(self) -> list[int]:
        """The ids of all prompts and turns."""
        ids: list[int] = []
        for turn in self.turns:
            ids += turn.prompt.token_ids
            ids += turn.token_ids
        return ids

    @property
    def messages(self) -> list[JsonObject]:
        """The messages of all prompts and turns."""
        return [message for turn in self.turns for message in (*turn.prompt.messages, turn.message)]


@dataclass
class Trajectory:
    """The sampled turns of a rollout and its forks, in the order in which they were sampled."""

    turns: list[Turn] = field(default_factory=list)
    starts: list[int] = field(default_factory=lambda: [0])
    """For the first rollout and each fork: the number of turns when it began."""

    def start_fork(self) -> int:
        """Return the number of a new fork."""
        self.starts.append(len(self.turns))
        return len(self.starts) - 1

    def turns_known_to(self, lineage: Sequence[int]) -> list[Turn]:
        """Return the turns of a rollout, and those that the rollouts that it is a fork of had when it was forked.

        Args:
            lineage: The numbers of the rollouts that it is a fork of, then its own.
        """
        ends = dict(zip(lineage, (*(self.starts[number] for number in lineage[1:]), len(self.turns)), strict=True))
        return [turn for turn in self.turns if turn.number < ends.get(turn.rollout, 0)]

    def path_to(self, turn: int | None) -> list[Turn]:
        """Return the turns up to and including a turn, from the last rendered conversation on. None gives no turns."""
        path: list[Turn] = []
        while turn is not None:
            path.append(self.turns[turn])
            turn = path[-1].prompt.parent
        return path[::-1]

    def conversation_to(self, turn: int | None) -> list[Turn]:
        """Return the turns up to and including a turn, with those of the branches that it continues."""
        path: list[Turn] = []
        while turn is not None:
            path.append(self.turns[turn])
            turn = path[-1].prompt.follows
        return path[::-1]

    def turn_before(self, prompt: Prompt, count: int) -> Turn | None:
        """Return the turn of the conversation that is `count` turns before a prompt; None if there are fewer."""
        number = prompt.follows
        for _ in range(count - 1):
            number = None if number is None else self.turns[number].prompt.follows
        return None if number is None else self.turns[number]

    def ids_before(self, prompt: Prompt) -> list[int]:
        """Return all ids before those of a prompt."""
        return Branch(prompt, tuple(self.path_to(prompt.parent))).token_ids

    def messages_before(self, prompt: Prompt) -> list[JsonObject]:
        """Return all messages before those of a prompt."""
        return Branch(prompt, tuple(self.path_to(prompt.parent))).messages

    def branches(self, turns: Iterable[int], *, rollouts: Iterable[int] = ()) -> list[Branch]:
        """Return the branches with some of these turns: a branch for each that no other of them extends.

        Args:
            turns: The numbers of the turns.
            rollouts: The numbers of the rollouts that sampled them. Branches are in this order, and those of one
                rollout in the order of their last turns. The turns of rollouts that are not listed come first.
        """
        ranks = {number: rank for rank, number in enumerate(rollouts)}
        # Forks sample at the same time, so the numbers of their turns differ from run to run.
        numbers = sorted({*turns}, key=lambda number: (ranks.get(self.turns[number].rollout, -1), number))
        extended = {self.turns[number].prompt.parent for number in numbers}
        seen: set[int] = set()
        branches = []
        for number in numbers:
            if number not in extended:
                path = self.path_to(number)
                branches.append(Branch(path[0].prompt, tuple(path), _count_known(path, seen)))
                seen.update(turn.number for turn in path)
        return branches


def _count_known(path: list[Turn], seen: Collection[int]) -> int:
    """Return how many turns at the start of a path are in `seen`."""
    return sum(turn.number in seen for turn in path)
