"""`Family`: everything about the models of one family that their chat templates do not define."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from renderers.core.completion_variants import AS_TEMPLATE, CompletionVariants
from renderers.core.options import ContentTokens, SamplingConventions, ThinkingRetention

Media = Literal["image", "video", "audio"]
SwitchValue = bool | int | float | str | None

Verified = Literal["tokens", "template", "none"]
"""How a record was verified: with template or encoder and vocabulary, with a template only, or not at all.

A family with a program is verified against the vendor's encoder.
"""


class TemplateSwitch(NamedTuple):
    """A template variable besides the messages and tools: its name, values and default.

    >>> TemplateSwitch("enable_thinking", (True, False), True).default
    True
    """

    name: str
    values: tuple[SwitchValue, ...] | type
    """All values, or their type."""
    default: SwitchValue = None
    """None if the templates of the family differ in it, or test whether the variable is defined."""
    is_passed: bool = True
    """True if a renderer passes the default to the template. Then it is the default of the config, too."""


def flag(name: str, default: bool | None = None) -> TemplateSwitch:
    """Return a switch with the values True and False."""
    return TemplateSwitch(name, (True, False), default)


def unpassed(*switches: TemplateSwitch) -> tuple[TemplateSwitch, ...]:
    """Return the switches, with defaults that are not passed to the template."""
    return tuple(switch._replace(is_passed=False) for switch in switches)


class RetentionRule(NamedTuple):
    """How much past reasoning a bridge keeps by default if a switch has some value.

    A switch with a rule for each of its values determines the retention.
    """

    switch: str
    value: SwitchValue
    keeps: ThinkingRetention


def keeps_all_if(switch: str, value: bool) -> tuple[RetentionRule, RetentionRule]:
    """Return the rules of a switch that keeps all reasoning with one value, and that of a tool cycle with the other."""
    return RetentionRule(switch, value, "all"), RetentionRule(switch, not value, "tool_cycle")


TEXT_AFTER_CALLS = CompletionVariants(keeps_text=True)
"""Text after a call is content."""

WITHOUT_THINKING = RetentionRule("enable_thinking", False, "all")


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text.

    >>> words("Qwen/Qwen3-0.6B Qwen/Qwen3-8B")
    ('Qwen/Qwen3-0.6B', 'Qwen/Qwen3-8B')
    """
    return tuple(text.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The record of a model family. Its chat templates are run, not copied here.

    >>> Family(key="chatml", class_name="ChatML", format="<|im_start|>{role}\\\\n{content}<|im_end|>\\\\n").verified
    'none'
    """

    key: str
    """The name of the family in configs: `qwen3`."""
    class_name: str
    """The prefix of its class names: `Qwen3` in `Qwen3RendererConfig`."""
    format: str
    """A description of the prompt format for readers."""
    names: tuple[str, ...] = ()
    """The exact names of its models."""
    templates: tuple[str, ...] = ()
    """The digest of each template that the record was verified with: 16 hex digits of its SHA-256."""
    verified: Verified = "none"
    stop_tokens: tuple[str, ...] = ()
    """The tokens that end a turn, in order. `ensure_final_stop` appends the first one."""
    switches: tuple[TemplateSwitch, ...] = ()
    """The variables of its templates besides the messages and tools."""
    retains: tuple[RetentionRule, ...] = ()
    """How much past reasoning a bridge keeps by default, where that differs from the template."""
    retention: ThinkingRetention | None = None
    """The same for a family without switches. None for the reasoning that the template keeps."""
    syntax: str | None = None
    """The key of its tool-call format. None if its models write no calls."""
    variants: CompletionVariants = AS_TEMPLATE
    """How completions differ from the turns that the templates write."""
    program: str | None = None
    """The key of the program that replaces the template. None if the template is correct."""
    program_without_template: str | None = None
    """The key of the program for models without a template. Models with one use their template."""
    content_tokens: ContentTokens = "template"
    """How special tokens in messages are encoded by default: `text` if the vendor's encoder does so."""
    normalisations: tuple[str, ...] = ()
    """Known losses of a message that is rendered and parsed back, by the names that the tests define."""
    conventions: SamplingConventions = field(default_factory=SamplingConventions)
    """Which tokens count as sampled in release 0.1, where that differs from the exact rule."""
    media: tuple[Media, ...] = ()
    """The media types that its messages may contain."""
    listed_media: tuple[Media, ...] = ("image",)
    """Those of them that release 0.1 processes, which `MULTIMODAL_MODELS` lists."""
    config_keys: tuple[str, ...] = ()
    """The keys of other families with configs that these models accept too, because release 0.1 used them."""
    text_only: tuple[str, ...] = ()
    """The names of its models that accept text only, although the family has media."""
    version: int = 1
    """Incremented when token ids change."""

    @property
    def default_switches(self) -> dict[str, SwitchValue]:
        """The template arguments of a renderer without a config."""
        return {
            switch.name: switch.default for switch in self.switches if switch.is_passed and switch.default is not None
        }
