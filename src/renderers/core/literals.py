"""`TemplateLiterals`: the constant texts that a chat format tests other texts against."""

from __future__ import annotations

from typing import NamedTuple


class TemplateLiterals(NamedTuple):
    """The constant texts that a chat format tests other texts against.

    Free text can change the output of the format only through such a test.
    """

    within: frozenset[str]
    """Literals that match anywhere in a text."""
    whole: frozenset[str]
    """Literals that match only a whole text: identifiers, such as role and field names."""

    def may_match(self, text: str) -> bool:
        """Return True if a test of the template may match a text."""
        return text.strip() in self.whole or any(literal in text for literal in self.within)

    def with_texts(self, texts: frozenset[str]) -> TemplateLiterals:
        """Return the literals with other texts that the template may compare with, such as its arguments.

        >>> TemplateLiterals(frozenset(), frozenset()).with_texts(frozenset({"Ada", "<s>", " "}))
        TemplateLiterals(within=frozenset({'<s>'}), whole=frozenset({'Ada'}))
        """
        names = frozenset(text for text in texts if text.isidentifier())
        others = frozenset(text for text in texts - names if text.strip())
        return TemplateLiterals(self.within | others, self.whole | (names - self.within))
