"""The errors that this package raises on purpose.

OSError
└── TokenizerLoadError            a tokenizer could not be loaded
    ├── TokenizerNotFoundError    nothing usable under that name
    ├── TokenizerUnreachableError the hub did not answer, and the cache does not do
    ├── TokenizerFileError        a file is unreadable, broken, or contradicts another
    └── TokenizerCheckError       the built tokenizer does not do what its files say
ValueError
├── UnencodableTextError          text that no tokenizer can encode
└── TokenIdError                  a number that cannot be a token id
"""

from __future__ import annotations

__all__ = [
    "TokenIdError",
    "TokenizerCheckError",
    "TokenizerFileError",
    "TokenizerLoadError",
    "TokenizerNotFoundError",
    "TokenizerUnreachableError",
    "UnencodableTextError",
]


class TokenizerLoadError(OSError):
    """A tokenizer could not be loaded; the message says which file and what to do.

    `name` is what the caller asked for, `file` the file at fault where there is one.

    >>> error = TokenizerFileError("is not JSON", name="org/model", file="tokenizer.json")
    >>> str(error), isinstance(error, OSError)
    ('org/model: tokenizer.json is not JSON', True)
    """

    def __init__(self, message: str, *, name: str = "", file: str = "") -> None:
        where = " ".join(part for part in (f"{name}:" if name else "", file) if part)
        super().__init__(f"{where} {message}" if where else message)
        self.name = name
        self.file = file


class TokenizerNotFoundError(TokenizerLoadError):
    """Nothing from which a tokenizer can be built was found under the name."""


class TokenizerUnreachableError(TokenizerLoadError):
    """The hub could not be reached or failed, and the cache lacks what was asked for; later it may work."""


class TokenizerFileError(TokenizerLoadError):
    """A file cannot be read, is broken, or contradicts another file beside it."""


class TokenizerCheckError(TokenizerLoadError):
    """The tokenizer was built, but does not do what its own files promise."""


class UnencodableTextError(ValueError):
    """The text holds a lone surrogate, so it has no UTF-8 form and no token ids."""


class TokenIdError(ValueError):
    """A token id is negative or does not fit a token id's 32 bits."""
