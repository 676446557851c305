"""What the layers of a network say about one forward pass, so that nothing is left on the modules."""

from __future__ import annotations

from torch import Tensor


class Ledger:
    """Collects tensors by name, as "encoder.0.balance"; those of losses keep their gradient."""

    def __init__(self, entries: dict[str, Tensor] | None = None, prefix: str = "") -> None:
        self.entries: dict[str, Tensor] = {} if entries is None else entries
        self._prefix = prefix

    def under(self, name: str) -> Ledger:
        """Returns a ledger that writes into this one with that name before its own, as "name.own"."""
        return Ledger(self.entries, f"{self._prefix}{name}.")

    @property
    def place(self) -> str:
        """Returns the name that this ledger writes under, as "encoder.0"."""
        return self._prefix.removesuffix(".")

    def note(self, name: str, value: Tensor) -> None:
        """Adds a tensor. Raises ValueError for a name that is there already."""
        whole = self._prefix + name
        if whole in self.entries:
            raise ValueError(f"{whole} is in the ledger already; take one ledger for each forward pass")
        self.entries[whole] = value

    def named(self, name: str) -> dict[str, Tensor]:
        """Returns all tensors whose last part of the name is this, by what stands before it."""
        ending = f".{name}"
        return {key.removesuffix(ending): value for key, value in self.entries.items() if key.endswith(ending)}
