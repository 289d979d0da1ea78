"""Programs that write pieces compare by value, and describe the input that they read."""

from __future__ import annotations

import pickle

from renderers.core.options import DEFAULT_DATE
from renderers.programs.base import Program
from renderers.programs.encoders.deepseek_r1 import DeepSeekR1Program
from renderers.programs.encoders.deepseek_v4 import DeepSeekV4Program
from renderers.programs.encoders.deepseek_v32 import DeepSeekV32Program

PROGRAMS: tuple[Program, ...] = (
    DeepSeekR1Program(),
    DeepSeekV32Program(),
    DeepSeekV4Program(),
    DeepSeekV4Program(has_system_token=True),
)


def test_programs_are_equal_to_copies_and_to_no_others() -> None:
    assert len({*PROGRAMS, *pickle.loads(pickle.dumps(PROGRAMS))}) == len(PROGRAMS)
    assert len({program.digest for program in PROGRAMS}) == len(PROGRAMS)


def test_only_arguments_that_are_read_are_probed() -> None:
    arguments = {"reasoning_effort": "max", "enable_thinking": True, "date": "x"}
    assert PROGRAMS[0].probe_arguments(arguments) == ()
    assert PROGRAMS[2].probe_arguments(arguments) == (("enable_thinking", True), ("reasoning_effort", "max"))
    assert not PROGRAMS[2].mentions("date")
    assert all(program.probe_time({}, DEFAULT_DATE) == DEFAULT_DATE for program in PROGRAMS)


def test_names_are_literals_of_whole_texts() -> None:
    assert PROGRAMS[0].literals.within == {"</think>"}
    assert {"developer", "read_url"} <= PROGRAMS[2].literals.whole
    assert not PROGRAMS[2].literals.within


def test_a_field_that_changes_the_format_is_not_replaced() -> None:
    assert PROGRAMS[2].text_uses.is_exact("task")
    assert not PROGRAMS[2].text_uses.is_exact("content")
