"""Our reading of completions agrees with vLLM's parsers, or differs for a reason that still holds."""

from __future__ import annotations

import pytest

from tests.support.models import HUB_AT_HAND
from tests.support.parser_agreement import CASES_AT_HAND, cases, compare
from tests.support.parser_reasons import REASONS
from tests.support.parser_subjects import SUBJECTS

FORMATS = (
    "hermes",
    "qwen3_hermes",
    "deepseek_v3",
    "deepseek_v31",
    "deepseek_v32",
    "deepseek_v4",
    "glm45",
    "glm47",
    "minimax_m3",
    *("gemma4", "functiongemma", "hy_v3", "poolside_v1", "minimax_m2", "seed_oss", "step3", "step3p5"),
    *("minicpm5", "qwen3_xml", "nemotron_v3", "dots", "ling3"),
    *("mistral", "mistral_pre_v11", "cohere", "granite", "granite4", "granite_20b_fc", "jamba", "hunyuan_a13b", "xlam"),
    *("lfm2", "olmo3", "pythonic", "llama4_pythonic", "llama3_json", "phi4mini", "internlm2", "longcat", "apertus"),
    *("gigachat3", "ernie45"),
)
"""Formats that are read as vLLM reads them. The table of `make parser-table` has all."""

pytestmark = pytest.mark.skipif(not (CASES_AT_HAND and HUB_AT_HAND), reason="needs the recorded completions")


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_is_read_as_vllm_reads_it_unless_there_is_a_reason(name: str) -> None:
    outcomes = compare([name], every=3)
    assert [outcome.case.id for outcome in outcomes if not outcome.agrees and outcome.reason is None] == []


def test_every_format_of_the_recorded_cases_has_a_subject() -> None:
    assert {*cases()} == {*SUBJECTS}


def test_reasons_have_unique_keys_and_name_known_formats() -> None:
    assert len({reason.key for reason in REASONS}) == len(REASONS)
    assert {name for reason in REASONS for name in reason.formats} <= {*SUBJECTS}
