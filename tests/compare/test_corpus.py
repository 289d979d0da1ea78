"""The corpus is the same in every run, and covers every kind of case."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from renderers import EMBEDDED, ChatRenderer, create_renderer
from renderers.base import MODEL_RENDERER_MAP
from scripts.compare.corpus import SETTINGS, Job, compared_models, jobs, uncovered_switches
from scripts.compare.worker import UNKNOWN, run_case


@pytest.fixture(scope="module")
def renderer() -> ChatRenderer:
    return create_renderer(str(EMBEDDED))


def test_the_same_cases_are_made_in_every_run(renderer: ChatRenderer) -> None:
    job = Job(settings={}, conversations=4, completions=3)
    first, second = (json.dumps([case.data() for case in job.cases(renderer)]) for _ in range(2))
    assert first == second


def test_every_kind_of_case_is_made_and_can_be_run(renderer: ChatRenderer) -> None:
    cases = Job(settings={}, conversations=4, completions=3).cases(renderer)
    kinds = Counter(case.kind for case in cases)
    assert kinds.keys() == {"facts", "render", "spans", "parse", "bridge", "sample"}
    errors = [result for result in (run_case(renderer, case.data()) for case in cases) if "error" in result]
    assert len(errors) < len(cases) / 4


def test_settings_that_only_affect_bridges_have_only_bridges(renderer: ChatRenderer) -> None:
    job = Job(settings={"thinking_retention": "all"}, conversations=4, completions=3)
    assert {case.kind for case in job.cases(renderer)} == {"bridge"}


def test_a_quick_corpus_has_the_same_settings() -> None:
    quick, full = jobs("qwen3", quick=True), jobs("qwen3", quick=False)
    assert [job.settings for job in quick] == [job.settings for job in full]
    assert quick[0].conversations < full[0].conversations


def test_models_without_a_family_have_one_job() -> None:
    assert [job.settings for job in jobs(UNKNOWN, quick=False)] == [{}]


def test_a_switch_without_settings_is_uncovered() -> None:
    assert uncovered_switches("qwen3", ["enable_thinking", "image_cache_max", "speed"]) == ["speed"]


def test_all_settings_belong_to_a_family() -> None:
    assert set(SETTINGS) <= set(MODEL_RENDERER_MAP.values())


def test_every_real_model_is_compared_once(hub: object) -> None:
    models = compared_models()
    assert len(models) == len(set(models)) > 30
    assert "Qwen/Qwen3-8B" in models
