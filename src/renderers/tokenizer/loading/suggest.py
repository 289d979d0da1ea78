"""Find model names that are close to a name that was not found."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable

from huggingface_hub import constants

_MOST = 3
_CUTOFF = 0.8
_FOLDER_PREFIX = "models--"


def did_you_mean(name: str) -> str:
    """Return a question with the close matches among cached and known models, after a space; empty if there are none.

    A name that is cached or known itself is not misspelt, so it has no close matches.
    """
    cached = cached_names()
    names = dict.fromkeys((*cached, *_known_names()))
    matches = [] if name in names else close_names(name, names)
    shown = [f"{match} (in the cache)" if match in cached else match for match in matches]
    *others, last = shown or [""]
    listed = f"{', '.join(others)} or {last}" if others else last
    return f" Did you mean {listed}?" if shown else ""


def close_names(name: str, names: Iterable[str]) -> list[str]:
    """Return up to three names that are close to a name, the closest first. Case does not matter.

    A name without an organisation is compared with names without theirs.

    >>> close_names("Qwen/Qwen3-88B", ["Qwen/Qwen3-8B", "microsoft/phi-4"])
    ['Qwen/Qwen3-8B']
    >>> close_names("PHI-4", ["Qwen/Qwen3-8B", "microsoft/phi-4"])
    ['microsoft/phi-4']
    """
    by_key: dict[str, list[str]] = {}
    for known in names:
        key = known if "/" in name else known.rpartition("/")[2]
        by_key.setdefault(key.casefold(), []).append(known)
    wanted = name.casefold()
    keys = [wanted] if wanted in by_key else difflib.get_close_matches(wanted, by_key, n=_MOST, cutoff=_CUTOFF)
    return [known for key in keys for known in by_key[key]][:_MOST]


def cached_names() -> list[str]:
    """Return the names of the model repositories in the Hugging Face cache."""
    try:
        folders = sorted(os.listdir(constants.HF_HUB_CACHE))
    except OSError:
        return []
    names = (folder.removeprefix(_FOLDER_PREFIX) for folder in folders if folder.startswith(_FOLDER_PREFIX))
    return [name.replace("--", "/", 1) for name in names]


def _known_names() -> Iterable[str]:
    # The records are needed for an error only.
    from renderers.families.registry import MODEL_RENDERER_MAP

    return MODEL_RENDERER_MAP
