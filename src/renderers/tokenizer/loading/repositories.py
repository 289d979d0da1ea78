"""Facts about repositories by name: pinned commits, and mirrors of gated repositories."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

TRUSTED_REVISIONS: Mapping[str, str] = MappingProxyType(
    {
        "moonshotai/Kimi-K2-Instruct": "fd1984e2b7a3350dbf7305fe73a4ede25c14de50",
        "moonshotai/Kimi-K2.5": "4d01dfe0332d63057c186e0b262165819efb6611",
        "moonshotai/Kimi-K2.6": "2755962d07cb42aa2d988a35bcb65cd4a9c2de82",
    }
)
"""The commit that is loaded if no revision is passed."""

MIRRORS: Mapping[str, str] = MappingProxyType(
    {
        "meta-llama/Llama-3.2-1B-Instruct": "unsloth/Llama-3.2-1B-Instruct",
        "meta-llama/Llama-3.2-3B-Instruct": "unsloth/Llama-3.2-3B-Instruct",
    }
)
"""Open copies of gated repositories, used only if the gated one is not cached and access is denied."""
