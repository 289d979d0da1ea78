"""Check the arguments that all training functions share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sized

from renderers.core.text import describe_type


def check_renderer(renderer: object) -> None:
    """Raise a `TypeError` if an object has not the methods of a renderer."""
    if not all(callable(getattr(renderer, name, None)) for name in ("render", "render_ids")):
        raise TypeError(f"renderer must be the result of create_renderer, not {describe_type(renderer)}")


def check_options(*, content_sft_roles: object, message_loss_mask: object, weights: object) -> None:
    """Raise a `TypeError` if an option of a training sample has a wrong type. None stands for no option."""
    roles = content_sft_roles
    if roles is not None and not (isinstance(roles, Collection) and all(isinstance(role, str) for role in roles)):
        raise TypeError(f"content_sft_roles must be a set of roles, such as {{'user'}}, not {roles!r}")
    if not isinstance(message_loss_mask, Sized | None):
        mask = describe_type(message_loss_mask)
        raise TypeError(f"message_loss_mask must be a list with an entry for each message, not {mask}")
    if not isinstance(weights, Mapping | None):
        raise TypeError(f"weights must be a dict of channels and roles, not {describe_type(weights)}")
