"""Programs that write pieces compare by value, and describe the input that they read."""

from __future__ import annotations

import pickle

import pytest

from renderers.core.options import DEFAULT_DATE
from renderers.errors import TemplateRefusalError
from renderers.programs.base import Program
from renderers.programs.encoders.deepseek_r1 import DeepSeekR1Program
from renderers.programs.encoders.deepseek_v4 import DeepSeekV4Program
from renderers.programs.encoders.deepseek_v32 import DeepSeekV32Program
from renderers.programs.encoders.harmony import HarmonyProgram
from renderers.programs.encoders.inkling import InklingProgram

PROGRAMS: tuple[Program, ...] = (
    DeepSeekR1Program(),
    DeepSeekV32Program(),
    DeepSeekV4Program(),
    DeepSeekV4Program(has_system_token=True),
    HarmonyProgram(),
    InklingProgram(),
)
NAMES = ("DeepSeek R1", "DeepSeek V3.2", "DeepSeek V4", "DeepSeek V4.1", "Harmony", "Inkling")


def test_programs_are_equal_to_copies_and_to_no_others() -> None:
    assert len({*PROGRAMS, *pickle.loads(pickle.dumps(PROGRAMS))}) == len(PROGRAMS)
    assert len({program.digest for program in PROGRAMS}) == len(PROGRAMS)


def test_only_arguments_that_are_read_are_probed() -> None:
    arguments = {"reasoning_effort": "max", "enable_thinking": True, "date": "x"}
    assert PROGRAMS[0].probe_arguments(arguments) == ()
    assert PROGRAMS[2].probe_arguments(arguments) == (("enable_thinking", True), ("reasoning_effort", "max"))
    assert not PROGRAMS[2].mentions("date")
    assert [program.mentions("strftime_now") for program in PROGRAMS] == [False] * 4 + [True, False]
    assert all(program.probe_time({}, DEFAULT_DATE) == DEFAULT_DATE for program in PROGRAMS)


def test_names_are_literals_of_whole_texts() -> None:
    assert PROGRAMS[0].literals.within == {"</think>"}
    assert {"developer", "read_url"} <= PROGRAMS[2].literals.whole
    assert not PROGRAMS[2].literals.within


def test_a_field_that_changes_the_format_is_not_replaced() -> None:
    assert PROGRAMS[2].text_uses.is_exact("task")
    assert not PROGRAMS[2].text_uses.is_exact("content")


@pytest.mark.parametrize(
    ("program", "name"),
    [
        *zip(
            PROGRAMS,
            ("DeepSeek R1", "DeepSeek V3.2", "DeepSeek V4", "DeepSeek V4.1", "Harmony", "Inkling"),
            strict=True,
        )
    ],
)
def test_a_refusal_names_the_format_and_its_roles(program: Program, name: str) -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "robot", "content": "x"}]
    with pytest.raises(TemplateRefusalError) as caught:
        program.run(messages, arguments={}, now=DEFAULT_DATE)
    expected = f"the format of {name} refuses message 1: there is no role 'robot'. The roles are assistant, "
    assert str(caught.value).startswith(expected)
