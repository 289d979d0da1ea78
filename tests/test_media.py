"""Images become placeholders with `process_multimodal=False`; otherwise they are an error. They are never dropped."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest
from tokenizers import Tokenizer

from renderers import (
    EMBEDDED,
    Channel,
    ChatRenderer,
    MediaError,
    MessageError,
    MultimodalChatRenderer,
    MultiModalData,
    PlaceholderRange,
    RendererPool,
    adopt_tokenizer,
    create_renderer,
    is_multimodal,
    load_tokenizer,
)

SEES = (
    "{% for m in messages %}<|turn|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}"
    "{% if p.type == 'image' %}<|tool|><|pad|><|/tool|>{% elif p.type == 'video' %}[a video]{% endif %}"
    "{{ p.text }}{% endfor %}{% endif %}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|turn|>assistant\n{% endif %}"
)
LOOK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "text", "text": "Look:"}, {"type": "image", "image": object()}]},
    {"role": "assistant", "content": "A cat."},
]


def multimodal_renderer() -> ChatRenderer:
    # Nothing in its files declares image support.
    tokenizer = adopt_tokenizer(Tokenizer.from_file(str(EMBEDDED / "tokenizer.json")))
    return create_renderer(tokenizer, chat_template=SEES)


def texts_of_channel(renderer: ChatRenderer, messages: Any, channel: Channel) -> list[str]:
    """Return the texts of all tokens of a channel."""
    rendered = renderer.render(messages, process_multimodal=False)
    tokens = zip(rendered.token_ids, rendered.channels, strict=True)
    return [renderer.tokenizer.decode([token]) for token, token_channel in tokens if token_channel is channel]


def test_a_placeholder_is_media_and_content_and_its_delimiters_are_not() -> None:
    renderer = multimodal_renderer()
    rendered = renderer.render(LOOK, process_multimodal=False)
    at = rendered.channels.index(Channel.MEDIA)
    assert renderer.tokenizer.decode([rendered.token_ids[at]]) == "<|pad|>"
    assert rendered.is_content[at - 1 : at + 2] == [False, True, False]
    assert rendered.message_indices[at - 1 : at + 2] == [0, 0, 0]
    assert rendered.channels.count(Channel.MEDIA) == 1
    assert rendered.token_ids == renderer.render_ids(LOOK, process_multimodal=False)
    assert rendered.multi_modal_data is None


def test_a_turn_after_an_image_begins_after_its_header() -> None:
    renderer = multimodal_renderer()
    rendered = renderer.render(LOOK, process_multimodal=False)
    sampled = [token for token, mask in zip(rendered.token_ids, rendered.sampled_mask, strict=True) if mask]
    assert renderer.tokenizer.decode(sampled) == "A cat.<|end|>"


def test_a_placeholder_that_is_plain_text_is_media_as_a_whole() -> None:
    video = [{"role": "user", "content": [{"type": "video"}, {"type": "text", "text": "See [a video]?"}]}]
    assert "".join(texts_of_channel(multimodal_renderer(), video, Channel.MEDIA)) == "[a video]"


def test_placeholder_text_in_a_body_is_not_media() -> None:
    messages = [{"role": "user", "content": [{"type": "text", "text": "<|pad|>"}, {"type": "image"}]}]
    renderer = multimodal_renderer()
    assert texts_of_channel(renderer, messages, Channel.MEDIA) == ["<|pad|>"]
    assert [span.text for span in renderer.render(messages, process_multimodal=False).injected] == ["<|pad|>"]


@pytest.mark.parametrize("kind", ["image", "video"])
def test_unprocessed_media_is_an_error_with_message_and_part(kind: str) -> None:
    parts = [{"type": "text", "text": "x"}, {"type": kind}]
    messages: list[dict[str, Any]] = [{"role": "user", "content": "Hi"}, {"role": "user", "content": parts}]
    renderer = multimodal_renderer()
    for render in (renderer.render, renderer.render_ids):
        with pytest.raises(
            MediaError, match=f"message 1: content.1 is a part of type '{kind}'.*process_multimodal=False"
        ):
            render(messages)


def test_media_that_a_template_would_drop_is_always_an_error() -> None:
    blind = create_renderer(load_tokenizer(EMBEDDED), chat_template="{{ messages[0].content }}")
    for process in (True, False):
        with pytest.raises(MessageError, match=r"message 0: content.1 is a part of type 'image'.*text parts only"):
            blind.render(LOOK, process_multimodal=process)
        with pytest.raises(MessageError, match=r"message 0: content.0 is a part of type 'audio'"):
            multimodal_renderer().render([{"role": "user", "content": [{"type": "audio"}]}], process_multimodal=process)


def test_only_renderers_of_models_with_images_are_multimodal() -> None:
    renderer = multimodal_renderer()
    assert isinstance(renderer, MultimodalChatRenderer)
    pad = load_tokenizer(EMBEDDED).added_tokens["<|pad|>"]
    assert renderer.mm_token_type_id_map == {pad: 1}
    assert is_multimodal(renderer)
    assert is_multimodal(RendererPool(multimodal_renderer, 1))
    text = create_renderer(load_tokenizer(EMBEDDED))
    assert not is_multimodal(text)
    assert not is_multimodal(RendererPool(lambda: text, 1))


def test_copies_stay_multimodal() -> None:
    renderer = multimodal_renderer()
    assert isinstance(renderer, MultimodalChatRenderer)
    _ = renderer.mm_token_type_id_map
    for again in (pickle.loads(pickle.dumps(renderer)), copy.deepcopy(renderer)):
        assert again == renderer
        assert again.mm_token_type_id_map == renderer.mm_token_type_id_map


PADS = {
    "Qwen/Qwen3-VL-4B-Instruct": {"<|image_pad|>": 1, "<|video_pad|>": 2},
    "Qwen/Qwen3.5-9B": {"<|image_pad|>": 1, "<|video_pad|>": 2},
    "moonshotai/Kimi-K2.5": {"<|media_pad|>": 1},
    "google/gemma-3-4b-it": {"<start_of_image>": 1},
    "google/gemma-4-31B-it": {"<|image|>": 1, "<|video|>": 2, "<|audio|>": 3},
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": {"[IMG]": 1},
}


@pytest.mark.parametrize("name", PADS)
def test_real_templates_write_placeholders(name: str, hub: object) -> None:
    tokenizer = load_tokenizer(name)
    renderer = create_renderer(tokenizer)
    assert isinstance(renderer, MultimodalChatRenderer)
    assert {tokenizer.convert_ids_to_tokens(token): kind for token, kind in renderer.mm_token_type_id_map.items()} == (
        PADS[name]
    )
    messages = [*LOOK, {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}] * 2}]
    assert texts_of_channel(renderer, messages, Channel.MEDIA) == [next(iter(PADS[name]))] * 3
    theirs = [{"type": "input_text", "text": "Look:"}, {"type": "input_image", "image_url": "x", "detail": "auto"}]
    messages = [{"role": "user", "content": theirs}]
    assert renderer.render(messages, process_multimodal=False) == renderer.render(LOOK[:1], process_multimodal=False)
    with pytest.raises(MediaError, match=r"content\.1 is a part of type '(input_image|image|image_url)'"):
        renderer.render(messages)
    hi = [{"role": "user", "content": "Hi"}]
    prompt = renderer.render_ids(hi, add_generation_prompt=True)
    completion = renderer.tokenizer.encode("Yes?", add_special_tokens=False) + renderer.get_stop_token_ids()[:1]
    bridges = [
        renderer.bridge_to_next_turn(prompt, completion, new, process_multimodal=False) for new in (messages, LOOK[:1])
    ]
    assert bridges[0] == bridges[1]


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "moonshotai/Kimi-K2-Instruct", "meta-llama/Llama-3.2-1B-Instruct"])
def test_real_text_models_are_not_multimodal(name: str, hub: object) -> None:
    assert not is_multimodal(create_renderer(load_tokenizer(name)))


def test_a_bridge_shares_no_dict_or_list_with_the_callers_media() -> None:
    renderer = multimodal_renderer()
    assert isinstance(renderer, MultimodalChatRenderer)
    pixels = object()
    media = MultiModalData(
        mm_hashes={"image": ["a"]},
        mm_placeholders={"image": [PlaceholderRange(offset=1, length=1)]},
        mm_items={"image": [{"pixels": pixels}]},
    )
    before = copy.deepcopy(media.mm_hashes), copy.deepcopy(media.mm_placeholders), {"image": [{"pixels": pixels}]}
    prompt = renderer.render_ids(LOOK[:1], add_generation_prompt=True, process_multimodal=False)
    bridged = renderer.bridge_to_next_turn(
        prompt,
        renderer.tokenizer.encode("A cat.<|end|>"),
        [{"role": "user", "content": "Sure?"}],
        previous_multi_modal_data=media,
    )
    assert bridged is not None
    carried = bridged.multi_modal_data
    assert carried is not None
    assert (carried.mm_hashes, carried.mm_placeholders, carried.mm_items) == before
    carried.mm_hashes["image"].append("b")
    carried.mm_hashes["video"] = []
    carried.mm_placeholders["image"][0].offset = 5
    carried.mm_items["image"][0]["pixels"] = None
    assert (media.mm_hashes, media.mm_placeholders, media.mm_items) == before


def test_a_copy_of_media_shares_the_processed_items() -> None:
    pixels = object()
    media = MultiModalData(mm_items={"image": [{"pixels": pixels}]})
    assert media.copy().mm_items["image"][0]["pixels"] is pixels
