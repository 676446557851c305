"""What is said where too little is held out to choose an epoch by."""

from __future__ import annotations

import warnings


def warn_of_few_held_out(share: float, count: int, what: str, *, least: int) -> None:
    """Warns, as the caller of the caller's caller, that a share of so many samples, called `what`, is fewer than the
    least validation part, so that the last epoch is kept."""
    warnings.warn(
        f"held_out={share:g} of {count} {what} is fewer than {least}: no epoch is chosen, and the last is kept; "
        f"give more {what}, a larger held_out, or 0 for none",
        stacklevel=4,
    )
