"""`Family`: what is known of the models of one family and their template cannot say."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from renderers.core.conventions import Conventions
from renderers.core.options import ThinkingRetention

__all__ = ["Family", "Media", "Retains", "Switch", "SwitchValue", "Verified", "digest_of"]

Media = Literal["image", "video", "audio"]
SwitchValue = bool | int | float | str | None

Verified = Literal["tokens", "template", "none"]
"""How far a record was checked: against template and vocabulary, against a template alone, or against nothing.

A family that is written by a program is checked against it, so until then no further than against a template.
"""


class Switch(NamedTuple):
    """What a template is given beside the messages: its name, what it may be, and what it is where it is not given.

    >>> Switch("enable_thinking", (True, False), True).default
    True
    """

    name: str
    values: tuple[SwitchValue, ...] | type
    """All that it may be, or the type of it."""
    default: SwitchValue = None
    """None where the templates of the family do not agree, or ask whether it is there at all."""


class Retains(NamedTuple):
    """A setting of a switch, and what of the reasoning in a history a bridge keeps by default where it is set so.

    A switch that is listed with both of its values is the one that rules the history.
    """

    switch: str
    value: SwitchValue
    keeps: ThinkingRetention


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Models that are written in one format. Their templates are run, not written down here.

    >>> Family(key="chatml", format="<|im_start|>{role}\\\\n{content}<|im_end|>\\\\n").verified
    'none'
    """

    key: str
    """The name of the family in configs: `qwen3`."""
    format: str
    """The wire format, for people."""
    names: tuple[str, ...] = ()
    """The exact ids of its models."""
    templates: tuple[str, ...] = ()
    """The digest of each template text that the record was checked with, as `digest_of` gives it."""
    verified: Verified = "none"
    stops: tuple[str, ...] = ()
    """The tokens that end a turn, in order; the first closes one that was cut off."""
    switches: tuple[Switch, ...] = ()
    """What its templates are given beside the messages."""
    retains: tuple[Retains, ...] = ()
    """What a bridge keeps by default, where that is not what the template does."""
    syntax: str | None = None
    """The key of the syntax of its tool calls; None where its template writes none."""
    program: str | None = None
    """The key of the program that takes the place of a template; None where the template tells the truth."""
    normalisations: tuple[str, ...] = ()
    """What a message loses when it is rendered and read again: names of `renderers.parse.normalise`."""
    conventions: Conventions = field(default_factory=Conventions)
    """Where release 0.1 of this package drew the borders of what is sampled, where that is not our rule."""
    media: tuple[Media, ...] = ()
    """What its messages may hold beside text."""
    text_alone: tuple[str, ...] = ()
    """The names of those of its models that take nothing but text all the same."""
    version: int = 1
    """Grows when ids change."""


def digest_of(template: str) -> str:
    """Returns the digest of a template's text by which its family is known: 16 hex digits of its SHA-256.

    >>> digest_of("{{ messages }}")
    'f24189f08c85a1eb'
    """
    return hashlib.sha256(template.encode("utf-8", "surrogatepass")).hexdigest()[:16]
