"""The ids of OpenAI's encoder and of release 0.1 for gpt-oss. Each runs in an environment of its own."""

from __future__ import annotations

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.peers import OLD_RELEASE, Peer, child_environment, find_python
from renderers.tokenizer.encoding.byte_text import BYTE_SYMBOLS
from scripts.compare.releases import OldRelease
from tests.support.models import CACHE, snapshot_of

__all__ = ["ENCODER", "MODEL", "harmony_vocabulary", "reference_ids", "release_ids"]

ENCODER = Peer(requirement="openai-harmony==0.0.8", beside=())
MODEL = "openai/gpt-oss-20b"
WORKER = Path(__file__).parents[2] / "scripts" / "harmony_worker.py"


def harmony_vocabulary() -> Path:
    """Return a directory with the vocabulary that the encoder would download, from the model's tokenizer.json."""
    folder = CACHE.parent / "peers" / "harmony"
    folder.mkdir(parents=True, exist_ok=True)
    vocabulary = json.loads((snapshot_of(MODEL) / "tokenizer.json").read_text())["model"]["vocab"]
    values = {symbol: byte for byte, symbol in enumerate(BYTE_SYMBOLS)}
    lines = (
        f"{base64.b64encode(bytes(values[symbol] for symbol in token)).decode()} {rank}\n"
        for token, rank in sorted(vocabulary.items(), key=lambda item: item[1])
    )
    (folder / "o200k_base.tiktoken").write_text("".join(lines))
    return folder


def reference_ids(jobs: list[dict[str, Any]]) -> list[list[int]] | None:
    """Return the ids of jobs as `scripts/harmony_worker.py` describes them. None if the encoder is not available."""
    python = find_python(ENCODER)
    if python is None:
        return None
    environment = child_environment(TIKTOKEN_ENCODINGS_BASE=str(harmony_vocabulary()))
    # -I keeps our package from being imported.
    command = [python, "-I", str(WORKER)]
    result = subprocess.run(
        command, input=json.dumps(jobs), env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    ids: list[list[int]] = json.loads(result.stdout)
    return ids


def release_ids(jobs: list[dict[str, Any]]) -> list[list[int]] | None:
    """Return the ids of jobs with release 0.1. None if its environment cannot be created."""
    python = find_python(OLD_RELEASE)
    if python is None:
        return None
    with OldRelease(python, TIKTOKEN_ENCODINGS_BASE=str(harmony_vocabulary())) as release:
        return [_release_job(release, job) for job in jobs]


def _release_job(release: OldRelease, job: dict[str, Any]) -> list[int]:
    arguments = {"messages": job["messages"], "tools": job["tools"], "add_generation_prompt": job["prompt"]}
    case = {"kind": "render", "arguments": arguments}
    release.send({"model": MODEL, "settings": job["options"], "cases": [case]})
    ids: list[int] = release.receive()["results"][0]["token_ids"]
    return ids
