"""`renderers demo`: the main job, on the model that comes with the package."""

from __future__ import annotations

from renderers import EMBEDDED, load_tokenizer
from renderers.cli.inspect import describe, show_tokens

__all__ = ["demo"]

_TURN = "<|turn|>user\nWhat is the weather in Paris? ☀️<|end|>\n"


def demo() -> str:
    """Loads the embedded model, and shows its pieces: files, tokens, template."""
    tokenizer = load_tokenizer(EMBEDDED)
    ids = tokenizer.encode(_TURN)
    same = tokenizer.decode(ids) == _TURN
    return "\n\n".join(
        (
            "The model that comes with the package:",
            describe(tokenizer),
            f"One turn, {len(_TURN)} characters, is {len(ids)} tokens:",
            show_tokens(tokenizer, ids),
            f"Decoded again, they give the same text: {'yes' if same else 'NO'}",
            "Its chat template begins:",
            "\n".join((tokenizer.chat_template or "").splitlines()[:12]),
        )
    )
