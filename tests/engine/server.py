"""Run a vLLM server on this machine, and stop it in all cases."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.engine.installation import ENGINES, MODEL, WORKERS, install_engine, make_model

__all__ = ["EngineServer", "running_server"]

_START_SECONDS = 900
"""A start takes one to two minutes on two free cores, and longer on busy ones."""
_STOP_SECONDS = 60
_SETTINGS = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "HF_HUB_OFFLINE": "1",
    # Without it, the first request with logprobs waits some 20 seconds for a compilation.
    "TORCHDYNAMO_DISABLE": "1",
    "PYTHONPATH": str(WORKERS),
}


@dataclass(frozen=True, kw_only=True)
class EngineServer:
    """A running server."""

    version: str
    url: str
    """The address, without a path."""
    context_length: int
    """The maximum number of tokens of a prompt and its completion."""
    log: Path
    prompt_log: Path
    model: str = MODEL

    def prompts(self) -> list[list[int]]:
        """Return the prompts of all requests so far, as the engine has them when it samples the first token."""
        return [json.loads(line) for line in self.prompt_log.read_text().splitlines()]


@contextlib.contextmanager
def running_server(version: str, *, context_length: int = 4096, scale_out: bool = True) -> Iterator[EngineServer]:
    """Start a server with the small model, wait until it answers, and stop it at the end of the block.

    Without `scale_out`, the server rejects requests for token ids.
    """
    # A process that is terminated stops its server, as one that is interrupted does.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    python = install_engine(version)
    make_model(python)
    port = _free_port()
    # fmt: off
    command = [
        python, "-m", "vllm.entrypoints.launchers.api_server.entry", "--model", MODEL, "--served-model-name", MODEL,
        "--host", "127.0.0.1", "--port", str(port), "--max-model-len", str(context_length), "--dtype", "float32",
        "--enforce-eager", "--logits-processors", "forced_ids:ForcedIds",
        *(["--enable-scale-out"] if scale_out else []),
    ]
    # fmt: on
    server = EngineServer(
        version=version,
        url=f"http://127.0.0.1:{port}",
        context_length=context_length,
        log=ENGINES / f"vllm-{version}.log",
        prompt_log=ENGINES / f"vllm-{version}-prompts.jsonl",
    )
    server.prompt_log.write_text("")
    with server.log.open("wb") as output:
        # A session of its own, so that its children can be stopped with it. In the folder of the engines, so that the
        # path of the model in responses is the same on all machines.
        process = subprocess.Popen(
            command,
            cwd=ENGINES,
            env={**os.environ, **_SETTINGS, "PROMPT_LOG": str(server.prompt_log)},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        _wait_until_healthy(server, process)
        yield server
    finally:
        _stop(process)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_until_healthy(server: EngineServer, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"vLLM {server.version} ended while it started:\n{_last_lines(server.log)}")
        try:
            with urllib.request.urlopen(f"{server.url}/health", timeout=10):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    raise RuntimeError(f"vLLM {server.version} did not start in {_START_SECONDS} s:\n{_last_lines(server.log)}")


def _last_lines(log: Path) -> str:
    return "\n".join(log.read_text(errors="replace").splitlines()[-20:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    # Its children, if any are left.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
