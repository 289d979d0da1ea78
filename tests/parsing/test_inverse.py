"""Law 3: what is rendered is read back as it was, and rendering what was read gives the same ids.

Fields are compared after the normalisations that the template is known to make, each by name; every one that is listed
must have been needed.
"""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support import inverse
from tests.support.completions import HUB
from tests.support.inverse import MODELS, Record, read_back


@pytest.mark.parametrize("name", MODELS)
def test_what_is_rendered_is_read_back(name: str) -> None:
    record, used = MODELS[name], read_back(name, examples=60)
    assert used["read"] > 15
    assert not record.calls or "drops_calls" in record.normalisations or used["calls"] > 10
    assert {*record.normalisations} | {*record.once} <= {*used}


def test_a_loss_that_is_not_listed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inverse.MODELS, str(EMBEDDED), Record(normalisations=("trims_content",)))
    with pytest.raises(AssertionError):
        read_back(str(EMBEDDED), examples=80)


@pytest.mark.parametrize(("syntax", "name"), HUB.items())
def test_every_syntax_is_read_back_from_a_real_template(syntax: str, name: str, hub: object) -> None:
    resolution = create_renderer(load_tokenizer(name)).resolution
    assert resolution.grammar.tools == syntax
    assert not [one for one in resolution.conflicts if "not read back" in one or "not known" in one]


def test_every_syntax_has_a_real_template() -> None:
    assert HUB.keys() >= TOOL_FORMATS.keys()
