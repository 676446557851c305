"""What a run says of data that a limit of `size` shortens."""

from __future__ import annotations

from tqdm import tqdm


def say_shortened(name: str, *, kept: int, there: int, most: int | None, unit: str) -> None:
    """Prints how many of so many are read, and that `size.sequences` is the reason; nothing where all are.

    name: of the data. kept, there: numbers over all parts. most: the limit. unit: what is counted, and of what the
    limit is, as "documents, at most so many of a part".
    """
    if kept < there:
        tqdm.write(f"{name}: size.sequences={most} takes {kept} of {there} {unit}")
