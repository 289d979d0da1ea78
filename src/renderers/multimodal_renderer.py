"""`MultimodalChatRenderer`: a renderer of a model that accepts images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

from renderers.core.inputs import MessageLike, TokenIds, ToolLike
from renderers.core.lazy import lazy
from renderers.core.tokens import MultiModalData, RenderedTokens
from renderers.renderer import ChatRenderer

_MEDIA_TYPE_IDS = {"image": 1, "video": 2, "audio": 3}


class MultimodalChatRenderer(ChatRenderer):
    """Renders messages of a model that accepts images. `create_renderer` selects it for such models."""

    supports_process_multimodal: ClassVar[bool] = True
    """`render` and the bridges accept `process_multimodal`."""

    def bridge_to_next_turn(
        self,
        previous_prompt_ids: TokenIds,
        previous_completion_ids: TokenIds,
        new_messages: Iterable[MessageLike] | None,
        *,
        tools: Iterable[ToolLike] | None = None,
        process_multimodal: bool = True,
        previous_multi_modal_data: MultiModalData | None = None,
        **template_arguments: Any,
    ) -> RenderedTokens | None:
        """Return the tokens of `bridge` with a copy of the prior prompt's media, or None if the bridge is refused.

        New images are placeholders and add nothing to `previous_multi_modal_data`. The copy shares the processed
        items with it, but no dict and no list.
        """
        prior = previous_prompt_ids, previous_completion_ids
        options = {"process_multimodal": process_multimodal, **template_arguments}
        bridged = super().bridge_to_next_turn(*prior, new_messages, tools=tools, **options)
        if bridged is not None and previous_multi_modal_data is not None:
            bridged.multi_modal_data = previous_multi_modal_data.copy()
        return bridged

    @lazy
    def mm_token_type_id_map(self) -> dict[int, int]:
        """The type id of each placeholder token: 1 for an image, 2 for a video, 3 for audio."""
        turns = self._pipeline.turn_format(with_tools=False)
        texts = {turns.placeholder("user", kind): number for kind, number in _MEDIA_TYPE_IDS.items()}
        ids = {number: self.tokenizer.encode(text, add_special_tokens=False) for text, number in texts.items() if text}
        return {tokens[0]: number for number, tokens in ids.items() if len(tokens) == 1}
