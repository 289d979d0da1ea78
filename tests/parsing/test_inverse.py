"""Law 3: what is rendered is read back as it was, and rendering what was read gives the same ids.

Fields are compared after the normalisations that the template is known to make, each by name; every one that is listed
must have been needed.
"""

from __future__ import annotations

import pytest

from renderers import EMBEDDED, create_renderer, load_tokenizer
from renderers.parsing.evidence import RoundTrip
from renderers.parsing.tool_formats import TOOL_FORMATS
from tests.support import inverse
from tests.support.completions import HUB, TEMPLATE_ONLY, UNSEEN
from tests.support.inverse import MODELS, Record, read_back
from tests.support.models import SHARED
from tests.support.standin import stand_in


@pytest.mark.parametrize("name", MODELS)
def test_rendered_turns_are_parsed_back(name: str) -> None:
    record, used = MODELS[name], read_back(name, examples=100)
    assert used["read"] > 15
    assert not record.calls or "drops_calls" in record.normalisations or used["calls"] > 10
    assert {*record.normalisations} | {*record.once} <= {*used}


def test_an_unlisted_loss_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(inverse.MODELS, str(EMBEDDED), Record(normalisations=("trims_content",)))
    with pytest.raises(AssertionError):
        read_back(str(EMBEDDED), examples=80)


@pytest.mark.parametrize(("tool_format", "name"), HUB.items())
def test_every_tool_format_is_parsed_from_a_real_template(tool_format: str, name: str, hub: object) -> None:
    resolution = create_renderer(load_tokenizer(name)).resolution
    assert resolution.grammar.tools == tool_format
    assert not [one for one in resolution.conflicts if "not read back" in one or "not known" in one]


@pytest.mark.parametrize(("tool_format", "template"), TEMPLATE_ONLY.items())
def test_a_tool_format_is_parsed_from_a_template_of_the_corpus(tool_format: str, template: str) -> None:
    path = SHARED / "corpus" / f"{template}.jinja"
    if not path.is_file():
        pytest.skip("needs the corpus of templates")
    resolution = create_renderer(stand_in(path), on_loss="ignore").resolution
    assert resolution.grammar.tools == tool_format
    if tool_format in ("hy3", "minimax_m3", "minicpm"):
        assert [key for key, evidence in resolution.evidence.items() if evidence.outcome is RoundTrip.DIFFERENT] == []


def test_every_tool_format_has_a_real_template() -> None:
    assert HUB.keys() | TEMPLATE_ONLY.keys() | UNSEEN == TOOL_FORMATS.keys()
