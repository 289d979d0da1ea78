"""How a chat template treats whitespace at the ends of texts, from its syntax tree."""

from __future__ import annotations

from collections.abc import Iterable

from jinja2 import nodes

from renderers.templating.literals import Variables, constant_texts
from renderers.templating.tree import find_all

_TRIMMING = frozenset({"strip", "lstrip", "rstrip"})
_TESTING = frozenset({"startswith", "endswith"})


def only_trims(tree: nodes.Template, variables: Variables) -> bool:
    r"""Return True if a template can only write or trim whitespace at the ends: all of it, or line breaks alone.

    Methods and filters count that may be applied to the text of a message by `text_uses`, apart from tests against
    literals. `variables` are those of `template_variables`.

    >>> from renderers.templating.syntax import syntax_tree
    >>> methods = "lstrip('\\n')", "strip(' ')", "endswith('\\n')", "endswith('a')"
    >>> [only_trims(syntax_tree("{{ messages[0].content.%s }}" % method), {}) for method in methods]
    [True, False, False, True]
    """
    return all(_only_trims(node, variables) for node in find_all(tree, (nodes.Call, nodes.Filter)))


def _only_trims(node: nodes.Call | nodes.Filter, variables: Variables) -> bool:
    if isinstance(node, nodes.Filter):
        # The filter that `map` applies gets no arguments.
        return node.name != "trim" or _trims_fully(node)
    if not isinstance(node.node, nodes.Getattr):
        return True
    if node.node.attr in _TRIMMING:
        return _trims_fully(node)
    return node.node.attr not in _TESTING or not any(map(_has_space, _constants(node.args, variables)))


def _trims_fully(node: nodes.Call | nodes.Filter) -> bool:
    """Return True if all whitespace is trimmed, or line breaks alone."""
    is_plain = not (node.kwargs or node.dyn_args or node.dyn_kwargs)
    return is_plain and all(isinstance(chars, nodes.Const) and chars.value == "\n" for chars in node.args)


def _constants(arguments: Iterable[nodes.Node], variables: Variables) -> Iterable[str]:
    return (text for argument in arguments for text in constant_texts(argument, variables))


def _has_space(text: str) -> bool:
    """Return True if a text begins or ends with whitespace."""
    return text != text.strip()
