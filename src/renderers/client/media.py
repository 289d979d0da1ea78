"""Media of a prompt in vLLM's form: processed features, or the parts themselves for the engine to process."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from renderers.core.jsontypes import JsonObject
from renderers.core.messages import media_parts, normalise_messages
from renderers.core.text import describe_type
from renderers.core.tokens import MultiModalData
from renderers.errors import MediaError

__all__ = ["list_content_parts", "to_features"]

_URL_TYPES = {"image": "image_url", "input_image": "image_url", "video": "video_url", "audio": "audio_url"}


def list_content_parts(messages: Iterable[Any]) -> list[JsonObject]:
    """Return the media of messages in order, each as a type and a URL.

    Raises:
        MediaError: A part has no URL.

    >>> list_content_parts([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:,a"}}]}])
    [{'type': 'image_url', 'url': 'data:,a'}]
    """
    parts = []
    for index, message in enumerate(normalise_messages(messages)):
        for number, kind in media_parts(message).items():
            part = message["content"][number]
            url_type = _URL_TYPES.get(kind, kind)
            sources = (part.get(kind), part.get(url_type), part.get("url"))
            source = next((value for value in sources if value is not None), None)
            url = source.get("url") if isinstance(source, dict) else source
            if url_type not in _URL_TYPES.values() or not isinstance(url, str) or not url:
                raise MediaError(
                    f"is a part of type {kind!r} without a URL that the engine could load",
                    message=index,
                    path=("content", number),
                )
            parts.append({"type": url_type, "url": url})
    return parts


def to_features(data: MultiModalData | None) -> JsonObject | None:
    """Return processed media in vLLM's form. None if there are none.

    Items must be encoded: the base64 text of vLLM's `encode_mm_kwargs_item`. Without items, vLLM takes them from its
    cache by their hashes.

    Raises:
        MediaError: An item is not encoded.
    """
    if data is None or data.is_empty():
        return None
    for modality, items in data.mm_items.items():
        item: Any
        for number, item in enumerate(items):
            if not isinstance(item, str):
                raise MediaError(
                    f"is {describe_type(item)}, and this package does not encode processed media for vLLM. Pass the "
                    "text of vLLM's encode_mm_kwargs_item, or generate with process_multimodal=False.",
                    path=("multi_modal_data", "mm_items", modality, number),
                )
    placeholders = {
        modality: [{"offset": place.offset, "length": place.length} for place in places]
        for modality, places in data.mm_placeholders.items()
    }
    return {"mm_hashes": data.mm_hashes, "mm_placeholders": placeholders, "kwargs_data": data.mm_items or None}
