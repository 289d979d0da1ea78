"""`Bridge`: a rollout that was extended by new messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from renderers.bridging.refusal import BridgeEvidence
from renderers.core.tokens import RenderedTokens


@dataclass(frozen=True)
class Bridge:
    """A rollout that is extended by new messages."""

    tokens: RenderedTokens
    """All tokens, up to the start of the next assistant turn."""
    matches_rerender: bool
    """True if rendering the whole conversation, with the turn as it is parsed, is proven to give these ids.

    The proof assumes that the prompt is a render of its messages.
    """
    evidence: tuple[BridgeEvidence, ...]

    @classmethod
    def checked_later(
        cls, tokens: RenderedTokens, evidence: tuple[BridgeEvidence, ...], *, matches: Callable[[], bool]
    ) -> Bridge:
        """Create an instance that computes `matches_rerender` on first access, because it renders samples."""
        bridge = cls.__new__(cls)
        bridge.__dict__.update(tokens=tokens, evidence=evidence, _matches=matches)
        return bridge

    def __getattr__(self, name: str) -> Any:
        # Python calls this only for attributes that are not set.
        if name != "matches_rerender" or "_matches" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return self.__dict__.setdefault(name, self.__dict__["_matches"]())

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tokens, self.matches_rerender, self.evidence)

    def __repr__(self) -> str:
        tokens, histories = len(self.tokens.token_ids), len(self.evidence)
        return f"Bridge(<{tokens} tokens>, matches_rerender={self.matches_rerender}, evidence=<{histories} histories>)"

    @property
    def keeps(self) -> bool:
        """The name of `matches_rerender` in earlier releases."""
        return self.matches_rerender
