"""Run jobs with both releases: release 0.1 in a worker process, this release in our own."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from benchmarks.peers import child_environment
from renderers import SamplingConventions
from renderers.base import MODEL_RENDERER_MAP
from renderers.families import FAMILIES
from scripts.compare.corpus import Job, jobs
from scripts.compare.differences import Pair
from scripts.compare.worker import UNKNOWN, create, describe, run_case

Data = dict[str, Any]

CONVENTIONS = {family.key for family in FAMILIES.values() if family.conventions != SamplingConventions()}
"""The families with sampling conventions of release 0.1 that differ from the default."""
WORKER = Path(__file__).with_name("worker.py")


class OldRelease:
    """Release 0.1 in a process of its own."""

    def __init__(self, python: str, **settings: str) -> None:
        """Start the process. `settings` are environment variables."""
        # -I keeps the package of this repository from being imported.
        command = [python, "-I", str(WORKER)]
        self._process = subprocess.Popen(
            command,
            env=child_environment(**settings),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def __enter__(self) -> OldRelease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The context of a process closes its pipes and waits for its end.
        with self._process:
            self._process.terminate()

    def families(self) -> dict[str, list[str]]:
        """Return the families of release 0.1, with the switches of each."""
        self.send({"families": True})
        families: dict[str, list[str]] = self.receive()["families"]
        return families

    def send(self, job: Data) -> None:
        """Start a job. The process reads it as a whole before it works on it."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()

    def receive(self) -> Data:
        """Wait for the answer of the job."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"release 0.1 ended with the status {self._process.wait()} before it answered")
        answer: Data = json.loads(line)
        return answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Results:
    """The results of both releases for a model and settings, or a reason why they were not compared."""

    model: str
    family: str
    """The family of release 0.1."""
    settings: Data
    reason: str | None = None
    pairs: list[Pair] = field(default_factory=list)
    with_conventions: list[Pair] = field(default_factory=list)
    """The renders again, of this release with the sampling conventions of release 0.1, if the family has any."""


def run_model(release: OldRelease, model: str, *, quick: bool) -> Iterator[Results]:
    """Run all jobs of a model with both releases."""
    release.send({"model": model, "settings": {}, "cases": []})
    first = release.receive()
    for job in jobs(first["family"], quick=quick):
        if "error" in first:
            yield Results(model=model, family=first["family"], settings={}, reason=f"release 0.1: {first['error']}")
            return
        yield _run_job(release, model, first["family"], job)


def _run_job(release: OldRelease, model: str, family: str, job: Job) -> Results:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            renderer = create(model, family=MODEL_RENDERER_MAP.get(model, UNKNOWN), settings=job.settings)
        except ValueError as error:
            return Results(model=model, family=family, settings=job.settings, reason=describe(error))
        cases = job.cases(renderer)
        release.send({"model": model, "settings": job.settings, "cases": [case.data() for case in cases]})
        # As JSON, so that tuples and enums of this release equal the data of the worker.
        results = json.loads(json.dumps([run_case(renderer, case.data()) for case in cases]))
    answer = release.receive()
    if "error" in answer:
        return Results(model=model, family=family, settings=job.settings, reason=f"release 0.1: {answer['error']}")
    pairs = [
        Pair(
            family=family,
            model=model,
            settings=job.settings,
            case=case,
            new=new,
            old=old,
            decode=renderer.tokenizer.decode,
        )
        for case, new, old in zip(cases, results, answer["results"], strict=True)
    ]
    moved = list(_with_conventions(pairs)) if family in CONVENTIONS and not job.settings else []
    return Results(model=model, family=family, settings=job.settings, pairs=pairs, with_conventions=moved)


def _with_conventions(pairs: list[Pair]) -> Iterator[Pair]:
    """Render the renders again with the sampling conventions of release 0.1."""
    first = pairs[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        renderer = create(
            first.model, family=MODEL_RENDERER_MAP.get(first.model, UNKNOWN), settings={"conventions": "0.1"}
        )
        for pair in pairs:
            if pair.case.kind == "render":
                yield dataclasses.replace(pair, new=run_case(renderer, pair.case.data()))
