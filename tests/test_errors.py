"""Errors name the problem, its place and the remedy, and can be pickled."""

from __future__ import annotations

import pickle

import pytest

from renderers import errors
from renderers.errors import TokenizerCheckError, TokenizerFileError, TokenizerLoadError, TokenizerNotFoundError


@pytest.mark.parametrize("kind", [TokenizerNotFoundError, TokenizerFileError, TokenizerCheckError])
def test_every_load_error_is_an_os_error_that_pickles(kind: type[TokenizerLoadError]) -> None:
    error = kind("is broken. Mend it.", name="org/model", file="tokenizer.json")
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(error, OSError)
    assert (type(again), str(again), again.name, again.file) == (kind, str(error), "org/model", "tokenizer.json")
    assert str(error) == "org/model: tokenizer.json is broken. Mend it."


def test_the_tree_in_the_docstring_names_every_error() -> None:
    assert errors.__doc__ is not None
    classes = [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, Exception)]
    assert len(classes) > 20
    assert all(error.__name__ in errors.__doc__ for error in classes)


def test_the_errors_of_a_client_can_be_imported_as_in_release_0_1() -> None:
    from renderers import MalformedGenerateResponseError, OverlongPromptError, base

    assert (OverlongPromptError.__mro__[1], MalformedGenerateResponseError.__mro__[1]) == (Exception, ValueError)
    assert base.OverlongPromptError is OverlongPromptError
    assert base.MalformedGenerateResponseError is MalformedGenerateResponseError
    for kind in (OverlongPromptError, MalformedGenerateResponseError):
        error = pickle.loads(pickle.dumps(kind("Prompt length (9) exceeds maximum context length (8).")))
        assert (type(error), str(error)) == (kind, "Prompt length (9) exceeds maximum context length (8).")
