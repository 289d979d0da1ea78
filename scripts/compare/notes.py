"""Differences that the corpus cannot show: names, types, settings, and families that release 0.1 cannot load here."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["NOTES", "Note"]


class Note(NamedTuple):
    """A row of the table of differences that are not measured."""

    topic: str
    old: str
    new: str
    remedy: str = "–"


NOTES: dict[str, tuple[Note, ...]] = {
    "Rendering": (
        Note("source of ids", "hand-written renderer", "the chat template", "pass another `chat_template=`"),
        Note(
            "no chat template",
            "rendered if the family is known",
            "rendered if the family has a program (gpt-oss, DeepSeek V3.2, V4 and R1, Inkling), else "
            "`TemplateMissingError`",
            "pass `chat_template=`",
        ),
        Note("images", "processed to pixels and pad tokens", "placeholders, or `MediaError`"),
        Note(
            "calls, results, names and tools of which the template writes nothing",
            "dropped",
            "dropped with a `LossWarning`, once per renderer and kind",
            '`on_loss="ignore"`',
        ),
        Note("Kimi K2", "tools as compact JSON", "JSON with spaces, as in the template"),
        Note(
            "Kimi K2.5",
            "`$defs` and defaults in the order of the caller; unsupported schemas are an error; `thinking=False` keeps "
            "the current reasoning",
            "sorted, as in the vendor's tokenizer; JSON for unsupported schemas; follows the template",
        ),
        Note("Gemma 4: `preserve_thinking`", "changes renders", "only affects bridges"),
        Note("unknown keyword of `render`", "`TypeError`", "`TypeError`, unless the template reads it"),
        Note("custom tokenizer without offsets", "`is_content` is empty", "full attribution"),
        Note(
            "`<|im_end|>` in a message",
            "control token",
            'the same; `content_tokens="text"` or `"refuse"` change it',
        ),
    ),
    "Parsing": (
        Note("ids that are not ints", "an error of the tokenizer", "`TypeError`"),
        Note("`True`, `None`, lists in Python notation", "text, `invalid_json`", "parsed by the schema"),
        Note('`["string", "null"]`, enums', "mostly `invalid_json`", "supported"),
        Note(
            "arguments that are not an object",
            "returned with `ok`",
            "null is `{}`, a string with an object is that object; other values as text with `invalid_json`",
        ),
        Note(
            "`<think>` in a format without reasoning",
            "reasoning for some families",
            'content; `DefaultRendererConfig(reasoning_parser="think")` parses it',
        ),
        Note("complete JSON call without its closing marker", "`unclosed_block`", "`ok`"),
        Note(
            "call inside reasoning that is not closed (Hy3, Laguna)",
            "reasoning",
            "a call, which ends the reasoning",
        ),
    ),
    "Bridging": (
        Note(
            "refusal",
            "None",
            "`bridge` returns a `BridgeRefusal` with a reason; `bridge_to_next_turn` returns None",
        ),
    ),
    "Names and types": (
        Note(
            "`load_tokenizer`",
            "transformers tokenizer",
            "`LoadedTokenizer`: immutable, without truncation",
            "pass `AutoTokenizer.from_pretrained(...)` to `create_renderer`",
        ),
        Note(
            "`RenderedTokens`, `ParsedResponse`, `RenderedTrainingSample`",
            "–",
            "more fields: `channels`, `injected`, `skipped`, `parts`, `state`, `loss_weights`; `==`, `repr` and "
            "`asdict` include them",
        ),
        Note("renderers", "mutable", "immutable; they pickle"),
        Note(
            "configs",
            "–",
            "more fields: `content_tokens`, `date`, `conventions`, `prefill`, `any_template`, `program` and others; a "
            "number is not accepted for a bool field",
        ),
        Note(
            "`MODEL_RENDERER_MAP`",
            "Qwen3 2507 is `qwen3`; the name decides",
            "more families; the name counts only with a known template",
        ),
        Note(
            "config of another family",
            "writes that family's format",
            "`ValueError` if the template is known for another family; with `any_template=True` it runs the "
            "tokenizer's template",
            "pass `chat_template=`",
        ),
        Note(
            "unknown `chat_template_kwargs`",
            "`ValueError`",
            "`UnknownSwitchError`, a `ValueError`, unless the template reads them or they switch thinking",
        ),
        Note("local checkpoint", "`DefaultRenderer`", "the class of the family with the same template"),
        Note("`supports_tools`", "only `DefaultRenderer`", "every renderer"),
        Note(
            "errors",
            "`KeyError`, `AttributeError`, `AssertionError`",
            "[classes of their own](../reference/errors.md), mostly `ValueError`",
        ),
        Note('`content_sft_roles="user"`', "matches substrings", "refused; pass a set"),
    ),
}
