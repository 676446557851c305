"""Which tokens of a document attend to which: windows of the text, and neighbours on the page (thesis, section 2.3.3).

A pattern gives each query i its keys N(i), once for a document and outside of any training step. Distances that are
equal have an order, so that processors agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.sparse import csr_array

from models.ranges import Count, Positive, Steps
from models.runtime.parameters import number, whole_number
from models.sequence.neighbours import nearest, within

FIRST = "first"  # the global token of a document


@dataclass(frozen=True, eq=False)
class Layout:
    """Says where the tokens of a document stand.

    centres: float64 (token, 2), NaN for a token without a place on the page. everywhere: bool (token,), the tokens that
    attend to all others and to which all others attend.
    """

    centres: np.ndarray
    everywhere: np.ndarray

    @property
    def count(self) -> int:
        """Returns how many tokens there are."""
        return len(self.centres)


@dataclass(frozen=True, eq=False)
class Keys:
    """Holds the keys of each query, ascending and each once: those of query i are keys[offsets[i]:offsets[i + 1]].

    offsets: int64 (query + 1,). keys: int64, the numbers of tokens. A query may have no key.
    """

    offsets: np.ndarray
    keys: np.ndarray

    @classmethod
    def of_pairs(cls, queries: np.ndarray, keys: np.ndarray, count: int) -> Keys:
        """Returns the keys of `count` queries from pairs (query, key) in any order; a pair that is there twice counts
        once."""
        return cls.of_matrix(csr_array((np.ones(len(keys), np.int8), (queries, keys)), shape=(count, count)))

    @classmethod
    def of_matrix(cls, matrix: csr_array) -> Keys:
        """Returns the keys of each query from a sparse matrix (query, key) that is not 0 for these."""
        matrix.sum_duplicates()  # and sorts
        return cls(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64))

    @property
    def count(self) -> int:
        """Returns how many queries there are."""
        return len(self.offsets) - 1

    @property
    def queries(self) -> np.ndarray:
        """Returns the query of each entry of `keys`."""
        return np.repeat(np.arange(self.count), np.diff(self.offsets))

    def of(self, query: int) -> np.ndarray:
        """Returns the keys of one query."""
        return self.keys[self.offsets[query] : self.offsets[query + 1]]

    def union(self, other: Keys) -> Keys:
        """Returns for each query the keys that it has here or there."""
        return Keys.of_matrix(csr_array(self.matrix() + other.matrix()))

    def mutual(self) -> Keys:
        """Returns the symmetric closure: j is a key of i where i is one of j."""
        return Keys.of_matrix(csr_array(self.matrix() + self.matrix().T))

    def matrix(self) -> csr_array:
        """Returns which token attends to which, sparse (query, key), 1 for these."""
        return csr_array((np.ones(len(self.keys), np.int8), self.keys, self.offsets), shape=(self.count, self.count))


class Pattern(Protocol):
    """Gives each query of a document its keys; itself is always among them."""

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:
        """Returns the keys of each token. generator: what a pattern draws by; most draw nothing."""
        ...


@dataclass(frozen=True, kw_only=True)
class WithGlobalTokens:
    """Is a pattern that may have a global token, which attends to all tokens of the document and which all attend to.

    global_tokens: ("first",), the first token of the document, or () for none. Raises ValueError for others.
    """

    global_tokens: Sequence[str] = (FIRST,)

    def __post_init__(self) -> None:
        if self.global_tokens not in ((FIRST,), [FIRST], (), []):
            raise ValueError(f"global_tokens must be [first] or [], got {self.global_tokens!r}")
        object.__setattr__(self, "global_tokens", tuple(self.global_tokens))


def has_global_token(pattern: object) -> bool:
    """Returns whether a pattern has a global token: those that may have none say so, all others have one."""
    return not isinstance(pattern, WithGlobalTokens) or bool(pattern.global_tokens)


def everywhere_of(pattern: object, layout: Layout) -> np.ndarray:
    """Returns the numbers of the tokens `everywhere`; none for a pattern without global tokens."""
    return np.flatnonzero(layout.everywhere & has_global_token(pattern))


def keys_of(pattern: Pattern, layout: Layout, generator: np.random.Generator) -> Keys:
    """Returns the keys of a pattern and those that tokens `everywhere` add: each of them is a key of every query, and
    has all tokens of the document as its keys. A pattern without global tokens has its own keys alone."""
    own, chosen = pattern.keys(layout, generator), everywhere_of(pattern, layout)
    if not len(chosen):
        return own
    all_tokens = np.arange(layout.count)
    seen = np.repeat(all_tokens, len(chosen)), np.tile(chosen, layout.count)
    return own.union(Keys.of_pairs(np.concatenate(seen), np.concatenate(seen[::-1]), layout.count))


def check_even(name: str, value: int) -> None:
    """Raises ValueError unless it is an even number above 0."""
    if value < 2 or value % 2:
        raise ValueError(f"{name} must be an even number of at least 2, got {value}")


def ranges(first: np.ndarray, last: np.ndarray) -> Keys:
    """Returns for query i the keys first[i] … last[i]."""
    counts = last - first + 1
    offsets = np.concatenate([[0], counts.cumsum()])
    return Keys(offsets, np.arange(offsets[-1]) - np.repeat(offsets[:-1] - first, counts))


@dataclass(frozen=True)
class Full:
    """Is N(i) = all tokens, thesis (2.27), (2.28)."""

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:  # noqa: ARG002
        """Returns all tokens for each token."""
        return ranges(np.zeros(layout.count, np.int64), np.full(layout.count, layout.count - 1))


@dataclass(frozen=True)
class SlidingWindow(WithGlobalTokens):
    """Is N(i) = {j : |i − j| ≤ window / 2}, thesis (2.29) to (2.32), as Longformer has it (Beltagy et al. 2020).

    Away from both ends these are window + 1 keys. Raises ValueError for a window that is odd or below 2.
    """

    window: Count = 128

    def __post_init__(self) -> None:
        super().__post_init__()
        check_even("window", self.window)

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:  # noqa: ARG002
        """Returns the tokens up to half a window before and behind each token."""
        own, half = np.arange(layout.count), self.window // 2
        return ranges(np.maximum(own - half, 0), np.minimum(own + half, layout.count - 1))


@dataclass(frozen=True)
class WindowRandom:
    """Is BigBird's pattern (Zaheer et al. 2020; thesis (2.33), (2.34)), the same for every length. Its first block is
    global, and so is the first token.

    Each block of `block` tokens attends to itself, to the blocks beside it, to `random_blocks` drawn without
    replacement from the rest, and to the first and the last, which attend to all. Raises ValueError for a block below
    1 and for fewer than no random blocks.
    """

    block: Count = 64
    random_blocks: Steps = 3

    def __post_init__(self) -> None:
        whole_number("block", self.block)
        whole_number("random_blocks", self.random_blocks, least=0)

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:
        """Returns the tokens of the blocks that the block of each token attends to. generator: draws the others."""
        blocks = -(-layout.count // self.block)
        allowed = np.zeros((blocks, blocks), bool)
        allowed[:, [0, -1]] = allowed[[0, -1]] = True
        for own in range(blocks):
            allowed[own, max(own - 1, 0) : own + 2] = True
            rest = np.flatnonzero(~allowed[own])
            allowed[own, generator.permutation(rest)[: self.random_blocks]] = True
        own = np.arange(layout.count)
        shared = [own[allowed[each].repeat(self.block)[: layout.count]] for each in range(blocks)]
        counts = np.repeat([len(each) for each in shared], self.block)[: layout.count]
        rows = np.bincount(own // self.block)
        keys = np.concatenate([np.tile(each, count) for each, count in zip(shared, rows, strict=True)])
        return Keys(np.concatenate([[0], counts.cumsum()]), keys)


@dataclass(frozen=True)
class Distance(WithGlobalTokens):
    """Is N(i) = the `neighbours` tokens of least ‖c_i − c_j‖², itself among them, thesis (2.35), (2.36).

    Of equally distant tokens those nearer in the text come first, then the earlier ones. A token without a centre has
    itself alone. mutual: j is a key of i also where i is one of j; otherwise the pattern is not symmetric. slack: 0 for
    exact neighbours, see `nearest`. Raises ValueError for fewer neighbours than one, and for a slack below 0.
    """

    neighbours: Count = 128
    mutual: bool = False
    slack: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("neighbours", self.neighbours)
        if not self.slack >= 0:
            raise ValueError(f"slack must be at least 0, got {self.slack}")

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:  # noqa: ARG002
        """Returns the neighbours of each token on the page."""
        found = Keys.of_pairs(*nearest(layout.centres, self.neighbours, slack=self.slack), layout.count)
        return found.mutual() if self.mutual else found


@dataclass(frozen=True)
class DistanceWindow(WithGlobalTokens):
    """Is the union of `Distance` and `SlidingWindow`, as figure 2.15d of the thesis has it. Raises ValueError as these
    do."""

    neighbours: Count = 128
    window: Count = 128
    mutual: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        whole_number("neighbours", self.neighbours)
        check_even("window", self.window)

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:
        """Returns the tokens that are near each token on the page or in the text."""
        near = Distance(self.neighbours, mutual=self.mutual).keys(layout, generator)
        return near.union(SlidingWindow(self.window).keys(layout, generator))


@dataclass(frozen=True)
class SpatialWindow(WithGlobalTokens):
    """Is N(i) = {j : |x_i − x_j| ≤ width and |y_i − y_j| ≤ height}, in the unit of the centres: a symmetric pattern.

    A token without a centre has itself alone. Raises ValueError for a size that is not above 0.
    """

    width: Positive
    height: Positive

    def __post_init__(self) -> None:
        super().__post_init__()
        number("width", self.width)
        number("height", self.height)

    def keys(self, layout: Layout, generator: np.random.Generator) -> Keys:  # noqa: ARG002
        """Returns the tokens in a rectangle around each token."""
        return Keys.of_pairs(*within(layout.centres, self.width, self.height), layout.count)
