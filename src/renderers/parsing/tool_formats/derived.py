"""Formats with the keys or the tags that a template writes in place of those of the format."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

from renderers.parsing.tool_formats.base import CallKeys, MarkerPair, ToolFormat, TurnLayout
from renderers.parsing.tool_formats.functionary import FUNCTIONARY, read_named, read_named_head
from renderers.parsing.tool_formats.glm import PairTags, read_pairs, read_pairs_head
from renderers.parsing.tool_formats.tags import (
    Tags,
    find_tagged_or_json,
    read_tagged_or_json,
    read_tagged_or_json_head,
)


def with_keys(tool_format: ToolFormat, keys: CallKeys) -> ToolFormat:
    """Return a format of JSON objects with other keys."""
    accepting_keys: tuple[Any, ...] = tool_format.read, tool_format.read_head, tool_format.find
    read, read_head, find = (function and functools.partial(function, keys=keys) for function in accepting_keys)
    if tool_format.layout is not TurnLayout.BARE_CALLS:
        find = tool_format.find
    return dataclasses.replace(tool_format, keys=keys, read=read, read_head=read_head, find=find)


def with_tags(tool_format: ToolFormat, tags: Tags | PairTags, call: MarkerPair) -> ToolFormat:
    """Return a format of tags with other tags, and with other markers around a call."""
    if isinstance(tags, PairTags):
        return dataclasses.replace(
            tool_format,
            call=call,
            value=(tags.value, tags.value_end),
            inner=tags[:4],
            read=functools.partial(read_pairs, tags=tags),
            read_head=functools.partial(read_pairs_head, tags=tags),
        )
    if tool_format is FUNCTIONARY:
        return dataclasses.replace(
            tool_format,
            call=call,
            read=functools.partial(read_named, name_end=tags.name_end),
            read_head=functools.partial(read_named_head, name_end=tags.name_end),
        )
    return dataclasses.replace(
        tool_format,
        call=call,
        # The first tag of a call would be taken for one without its markers.
        unmarked=(tags.function, tags.end) if tags.function and tags.end else None,
        value=tags.value,
        last=(tags.end,) if tags.end else (),
        read=functools.partial(read_tagged_or_json, tags=tags),
        read_head=functools.partial(read_tagged_or_json_head, tags=tags),
        find=functools.partial(find_tagged_or_json, tags=tags) if tags.function else None,
    )
