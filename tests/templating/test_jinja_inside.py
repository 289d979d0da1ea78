"""Pin the undocumented parts of Jinja that the environment depends on, so that a release that changes them fails here.

`renderers.templating.environment` overrides methods of Jinja's code generator. Their output is not documented, so this
module lists the expected pieces of generated code for each overridden construct.
"""

from __future__ import annotations

import inspect
import re
from importlib.metadata import version

import jinja2
import pytest
from jinja2.compiler import CodeGenerator
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.tests import TESTS

from renderers.templating.environment import _COMPARING_TESTS, TracingEnvironment, _TracingCodeGenerator
from renderers.templating.filters import ITERATING_FILTERS, TEXT_FILTERS
from renderers.templating.sandbox import ChatEnvironment

SIGNATURES = {
    "__init__": "(self, environment, name, filename, stream=None, defer_init=False, optimized=True)",
    "_output_child_pre": "(self, node, frame, finalize)",
    "blockvisit": "(self, nodes, frame)",
    "buffer": "(self, frame)",
    "macro_body": "(self, node, frame)",
    "temporary_identifier": "(self)",
    "visit": "(self, node, *args, **kwargs)",
    "visit_Assign": "(self, node, frame)",
    "visit_Concat": "(self, node, frame)",
    "visit_CondExpr": "(self, node, frame)",
    "visit_For": "(self, node, frame)",
    "visit_Dict": "(self, node, frame)",
    "visit_Getitem": "(self, node, frame)",
    "visit_If": "(self, node, frame)",
    "visit_List": "(self, node, frame)",
    "visit_Operand": "(self, node, frame)",
    "visit_Tuple": "(self, node, frame)",
    "writeline": "(self, x, node=None, extra=0)",
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_the_code_generator_has_the_methods_that_we_override_or_call(name: str) -> None:
    signature = inspect.signature(getattr(CodeGenerator, name))
    bare = [parameter.replace(annotation=parameter.empty) for parameter in signature.parameters.values()]
    assert str(inspect.Signature(bare)) == SIGNATURES[name]


def test_every_override_is_of_a_pinned_method() -> None:
    overrides = {name for name in vars(_TracingCodeGenerator) if not name.startswith("__")} - {
        "_save_scope",
        "_visit_weighed",
    }
    assert overrides <= set(SIGNATURES)


def code(source: str, environment: jinja2.Environment) -> str:
    """Return the Python code that is generated for a template."""
    return str(environment.compile(source, raw=True))


GENERATED = {
    "{{ x }}": ["yield context.to_text("],
    "{{ x ~ 'a' }}": ["context.concatenate((", "), False)"],
    "{% autoescape true %}{{ x ~ 'a' }}{% endautoescape %}": ["), True)"],
    "{{ [x] }}{{ (x, 1) }}{{ {'a': x} }}": ["context.weigh([", "context.weigh((", "context.weigh({"],
    "{{ x[1:] }}": ["context.charge_slice("],
    "{{ x in y }}{{ x == y }}{{ x in [y] }}": [
        " in context.charge_comparison(",
        " == context.charge_comparison(",
        "charge_comparison(context.weigh([",
    ],
    "{{ x in ['a', 1] }}": [" in ['a', 1]"],
    "{% set y = x %}": ["= context.scopes.claim("],
    "{% set ns.y = x %}": ["] = context.scopes.claim("],
    "{% macro m() %}a{% endmacro %}": ["t_1 = context.buffer()", "return concat(t_1)"],
    "{% set y %}a{% endset %}": ["t_1 = context.buffer()", "concat(t_1)"],
    "{% filter upper %}a{% endfilter %}": ["= context.buffer()", "(context, concat("],
    "{% for m in x %}a{% endfor %}": [
        "t_1 = context.scopes.current",
        "context.begin_iteration(t_1, l_1_m, 1)",
        "context.scopes.leave(t_1)",
    ],
    "{% for m in x if m %}a{% endfor %}": ["if context.charge_test() and (l_1_m)"],
    "{% for k, v in x %}a{% endfor %}": ["context.begin_iteration(t_1, (l_1_k, l_1_v), 1)"],
    "{% if x %}a{% elif y %}b{% else %}c{% endif %}": [
        "t_1 = context.scopes.current",
        "context.scopes.branch(t_1, prompt=False)",
        "context.scopes.leave(t_1)",
    ],
    "{% if add_generation_prompt %}a{% endif %}": ["context.scopes.branch(t_1, prompt=True)"],
    "{{ 'a' if add_generation_prompt else 'b' }}": ["(context.as_prompt_text('a')) if "],
    "{{ x | upper }}": ["(context, "],
    "{{ x + y }}": ["environment.call_binop(context, '+', "],
    "{{ x * y ** z % w }}": ["call_binop(context, '*'", "call_binop(context, '**'", "call_binop(context, '%'"],
    "{{ x.y('a') }}": ["environment.call(context, environment.getattr("],
}


@pytest.mark.parametrize("source", GENERATED)
def test_generated_code_contains_the_hooks(source: str) -> None:
    generated = code(source, TracingEnvironment())
    for piece in GENERATED[source]:
        assert piece in generated, generated


def test_every_piece_of_output_is_a_yield_or_goes_through_a_buffer() -> None:
    source = "a{{ x }}{% for m in y %}b{{ m }}{% endfor %}{% macro n() %}c{{ x }}{% endmacro %}{{ n() }}"
    generated = code(source, TracingEnvironment())
    buffers = set(re.findall(r"(t_\d+) = context.buffer\(\)", generated))
    assert {name for name in re.findall(r"(\w+)\.(?:append|extend)\(", generated) if name.startswith("t_")} == buffers


def test_contexts_and_derived_contexts_are_of_the_environments_context_class() -> None:
    environment = TracingEnvironment()
    context = environment.from_string("").new_context({})
    assert type(context) is environment.context_class
    assert "new_context" in inspect.getsource(Context.derived)


def test_every_filter_of_jinja_is_classified() -> None:
    others = (
        "abs attr batch count d default dictsort first float groupby int items last length list map max min random "
        "reject rejectattr round select selectattr slice sort sum unique wordcount"
    )
    assert set(FILTERS) == TEXT_FILTERS | set(others.split())
    assert set(others.split()) > ITERATING_FILTERS


def test_every_test_of_jinja_is_classified() -> None:
    others = (
        "boolean callable defined divisibleby escaped even false filter float integer iterable mapping none number odd "
        "sameas sequence string test true undefined"
    )
    assert set(TESTS) == _COMPARING_TESTS | set(others.split())


def test_filters_declare_their_first_argument_by_jinja_pass_arg() -> None:
    pass_args = [function.jinja_pass_arg for function in FILTERS.values() if hasattr(function, "jinja_pass_arg")]
    assert {pass_arg.name for pass_arg in pass_args} == {"context", "environment", "eval_context"}
    assert FILTERS["replace"].jinja_pass_arg.name == "eval_context"
    assert FILTERS["map"].jinja_pass_arg.name == "context"


def test_the_plain_environment_generates_code_without_hooks() -> None:
    assert "context.to_text" not in code("{{ x }}{% set y = x %}", ChatEnvironment())


def test_the_jinja_release_is_a_supported_one() -> None:
    assert version("jinja2").startswith("3.1.")
