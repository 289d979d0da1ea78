"""Media of messages and processed media are put into vLLM's form."""

from __future__ import annotations

from typing import Any

import pytest

from renderers.client.media import list_content_parts, to_features
from renderers.core.tokens import MultiModalData
from renderers.errors import MediaError


def user(*parts: Any) -> dict[str, Any]:
    return {"role": "user", "content": list(parts)}


def test_media_are_listed_in_the_order_of_the_messages() -> None:
    messages = [
        {"role": "system", "content": "Look."},
        user(
            {"type": "image", "image": "https://a"},
            {"type": "text", "text": "and"},
            {"type": "video", "url": "https://b"},
        ),
        user({"type": "input_image", "image_url": "https://c"}, {"audio_url": {"url": "https://d"}}),
    ]
    assert list_content_parts(messages) == [
        {"type": "image_url", "url": "https://a"},
        {"type": "video_url", "url": "https://b"},
        {"type": "image_url", "url": "https://c"},
        {"type": "audio_url", "url": "https://d"},
    ]


@pytest.mark.parametrize(
    "part",
    [{"type": "image"}, {"type": "image_url", "image_url": {}}, {"type": "input_audio", "input_audio": {"data": "a"}}],
)
def test_a_part_without_a_url_is_an_error_that_names_it(part: dict[str, Any]) -> None:
    with pytest.raises(MediaError, match=r"message 0: content\.0 is a part of type .* without a URL"):
        list_content_parts([user(part)])


def test_empty_media_have_no_features() -> None:
    assert to_features(None) is None
    assert to_features(MultiModalData()) is None


def test_without_items_the_engine_uses_its_cache() -> None:
    features = to_features(MultiModalData(mm_hashes={"image": ["a"]}))
    assert features == {"mm_hashes": {"image": ["a"]}, "mm_placeholders": {}, "kwargs_data": None}
