"""A family is found by the config, else by the name if the template fits, else by the template."""

from __future__ import annotations

import pytest

from renderers import load_tokenizer
from renderers.families import FAMILIES, MODEL_RENDERER_MAP
from renderers.families.registry import NO_MATCH, UNKNOWN_FAMILY, FamilyMatch, find_family

QWEN3, GLM53 = FAMILIES["qwen3"], FAMILIES["glm-5.3"]


def test_a_new_model_has_no_family() -> None:
    assert find_family(key=None, name="my/model", templates=["{{ messages }}"]) == NO_MATCH


def test_a_config_decides_even_without_a_template() -> None:
    assert find_family(key="qwen3", name="", templates=[]) == FamilyMatch(QWEN3, "config")
    assert find_family(key="default", name="Qwen/Qwen3-8B", templates=[]) == FamilyMatch(UNKNOWN_FAMILY, "config")


def test_a_config_for_an_unknown_template_is_accepted_with_a_warning() -> None:
    match = find_family(key="qwen3", name="", templates=["{{ messages }}"])
    assert (match.family, match.matched_by) == (QWEN3, "config")
    assert match.warning is not None
    assert match.warning.startswith("the config is for qwen3, but the chat template (")


def test_a_known_name_with_an_unknown_template_has_the_family_of_the_template() -> None:
    match = find_family(key=None, name="Qwen/Qwen3-8B", templates=["{{ messages }}"])
    assert (match.family, match.matched_by) == (UNKNOWN_FAMILY, "nothing")
    assert match.warning is not None
    assert "Qwen/Qwen3-8B is a model of qwen3" in match.warning


def test_a_name_decides_if_there_is_no_template() -> None:
    assert find_family(key=None, name="Qwen/Qwen3-8B", templates=[]) == FamilyMatch(QWEN3, "name")
    match = find_family(key=None, name="zai-org/GLM-5.3", templates=["{{ messages }}"])
    assert (match.family, match.matched_by) == (GLM53, "name")
    assert match.warning is not None
    assert "without a verified chat template" in match.warning


def test_a_template_of_another_family_takes_precedence_over_a_name(hub: object) -> None:
    template = load_tokenizer("Qwen/Qwen3-8B").chat_templates["default"]
    named = find_family(key=None, name="zai-org/GLM-5.3", templates=[template])
    assert (named.family, named.matched_by, named.conflicts) == (QWEN3, "template", True)
    configured = find_family(key="glm-5.3", name="", templates=[template], any_template=True)
    assert (configured.family, configured.matched_by, configured.conflicts) == (GLM53, "config", True)
    assert configured.warning is not None
    assert "is that of qwen3" in configured.warning


def test_a_config_is_rejected_if_the_template_is_that_of_another_family(hub: object) -> None:
    template = load_tokenizer("Qwen/Qwen3-8B").chat_templates["default"]
    fault = r"^the config is for glm-5\.3, but the chat template \(\w+\) is that of qwen3\. Use Qwen3RendererConfig, "
    with pytest.raises(ValueError, match=fault):
        find_family(key="glm-5.3", name="", templates=[template])
    # A template that was changed is unknown.
    assert find_family(key="glm-5.3", name="", templates=[template + " "]).family == GLM53
    assert find_family(key="default", name="", templates=[template]).family == UNKNOWN_FAMILY


@pytest.mark.parametrize("key", ["qwen3-2507", "qwen3-2507-thinking"])
def test_a_config_that_release_0_1_used_for_these_models_is_accepted(key: str) -> None:
    assert find_family(key="qwen3", name="", templates=[]).family.key == "qwen3"
    assert FAMILIES[key].config_keys == ("qwen3",)


def test_a_registered_name_with_an_unknown_family_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODEL_RENDERER_MAP, "my/glm", "glm-55")
    with pytest.raises(ValueError, match=r"no family 'glm-55'\. MODEL_RENDERER_MAP maps my/glm to it"):
        find_family(key=None, name="my/glm", templates=[])
    monkeypatch.setitem(MODEL_RENDERER_MAP, "my/glm", "default")
    assert find_family(key=None, name="my/glm", templates=[]) == NO_MATCH


def test_a_registered_name_is_recognised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(MODEL_RENDERER_MAP, "my/glm", "glm-5.3")
    assert find_family(key=None, name="my/glm", templates=[]).family == GLM53


def test_a_config_of_no_family_raises_with_advice() -> None:
    with pytest.raises(ValueError, match=r"no family 'mine'\. Use CustomRendererConfig for a config class of your own"):
        find_family(key="mine", name="", templates=[])
