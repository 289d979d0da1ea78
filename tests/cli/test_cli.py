"""The command line prints results, errors of one line, and exit codes."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest

import renderers
from renderers.cli import main

COMMAND = str(Path(sys.executable).parent / "renderers")


def test_an_error_is_one_line_and_an_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", "/no/such/place"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("renderers: '/no/such/place' is neither")
    assert captured.err.count("\n") == 1


def test_a_terminal_that_cannot_show_a_character_gets_its_escape() -> None:
    command = [COMMAND, "demo"]
    done = subprocess.run(command, check=True, capture_output=True, env={"PYTHONIOENCODING": "ascii"})
    assert b"\\ufffd" in done.stdout


def test_the_installed_command_runs() -> None:

    done = subprocess.run([COMMAND, "--version"], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == renderers.__version__


def test_a_closed_pipe_ends_the_command_without_an_error() -> None:
    models = "from renderers.cli import main; raise SystemExit(main(['models']))"
    shown = subprocess.Popen([sys.executable, "-c", models], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert shown.stdout is not None
    shown.stdout.close()
    _, errors = shown.communicate()
    assert (shown.returncode, errors) == (0, b"")


def test_the_module_runs_like_the_command() -> None:
    for arguments in (["models", "qwen3"], ["inspect", "/no/such/place"], ["diff"], ["--help"]):
        runs = [
            subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
            for command in ([COMMAND], [sys.executable, "-m", "renderers"])
        ]
        assert (runs[0].returncode, runs[0].stdout, runs[0].stderr) == (
            runs[1].returncode,
            runs[1].stdout,
            runs[1].stderr,
        )


@pytest.mark.parametrize(
    ("arguments", "status"), [([], 2), (["nothing"], 2), (["render"], 2), (["models", "--no-option"], 2), (["-h"], 0)]
)
def test_wrong_usage_has_exit_status_2(arguments: list[str], status: int, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == status
    assert bool(capsys.readouterr().err) is bool(status)


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("one\n  two"), "renderers: one two\n"),
        (KeyError("name"), "renderers: KeyError: 'name'\n"),
        (RecursionError(), "renderers: RecursionError: \n"),
        (OSError(28, "No space left on device"), "renderers: [Errno 28] No space left on device\n"),
    ],
)
def test_any_error_is_one_line(
    error: Exception, line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(name: str | None) -> str:
        raise error

    monkeypatch.setattr("renderers.cli.models.models", fail)
    assert main(["models"]) == 1
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", line)


def test_an_interrupt_ends_the_command_without_a_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(name: str | None) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("renderers.cli.models.models", interrupt)
    assert main(["models"]) == 130
    assert capsys.readouterr().err == ""


def test_a_warning_is_one_line(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(name: str | None) -> str:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.warn("a template\nis unknown", UserWarning, stacklevel=1)
        return "done"

    before = warnings.showwarning
    monkeypatch.setattr("renderers.cli.models.models", warn)
    assert main(["models"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("done\n", "renderers: warning: a template is unknown\n")
    assert warnings.showwarning is before
