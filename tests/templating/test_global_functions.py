"""Global functions follow Jinja, within limits."""

from __future__ import annotations

import pytest
from jinja2 import Undefined
from jinja2.exceptions import SecurityError

from renderers.errors import TemplateLimitError
from renderers.templating.global_functions import GLOBAL_FUNCTIONS, make_dict, make_namespace, make_range
from renderers.templating.limits import LIMITS, Budget
from renderers.templating.sandbox import ChatEnvironment
from renderers.templating.values import Owner
from renderers.templating.wrapping import wrap

OWNER: Owner = (0, ("content",))
MISSING = Undefined(name="missing")


@pytest.fixture
def budget() -> Budget:
    return Budget(LIMITS)


def test_a_long_range_is_refused(budget: Budget) -> None:
    assert make_range(budget, 3) == range(3)
    assert make_range(budget, 5, 1, -2) == range(5, 1, -2)
    for bounds in ((LIMITS.range + 1,), (10**30,), (0, -(10**30), -1)):
        with pytest.raises(TemplateLimitError, match="range"):
            make_range(budget, *bounds)
    with pytest.raises(ValueError, match="zero"):
        make_range(budget, 0, 1, 0)


def test_dicts_and_namespaces_are_made_of_pairs_and_names(budget: Budget) -> None:
    assert make_dict(budget, {"a": 1}, b=2) == make_dict(budget, [("a", 1)], b=2) == {"a": 1, "b": 2}
    assert make_namespace(budget, wrap({"a": 1}, OWNER), b=2).values == {"a": 1, "b": 2}
    with pytest.raises(SecurityError):
        make_namespace(budget, _a=1)


def test_the_global_functions_are_those_of_the_environment() -> None:
    refused = {"lipsum", "cycler", "joiner"}
    assert GLOBAL_FUNCTIONS.keys() == ChatEnvironment().globals.keys() - refused
