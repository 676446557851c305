"""What all data sets have whose trajectories are simulated, a few of them held out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from data.base import check_whole_numbers
from data.ranges import Count, Seed
from data.source import Source
from data.split import Parts, check_trajectories, split_trajectories


@dataclass(frozen=True, kw_only=True)
class Trajectories(Source):
    """Is a data set of `trajectories` simulated trajectories of `steps` rows, the last `test` of which are the test
    part; `validation` of the others are drawn.

    seed: of all that is drawn.
    """

    seed: Seed = 0
    trajectories: Count = 25
    test: Count = 5
    validation: Count = 4
    steps: Count = 300

    def check(self, data_set: str) -> None:
        """Raises DataError, naming data set and parameter, for one of these out of range."""
        check_whole_numbers(data_set, {"seed": self.seed}, least=0)
        check_trajectories(data_set, trajectories=self.trajectories, test=self.test, validation=self.validation)
        check_whole_numbers(data_set, {"steps": self.steps})

    def split(self, arrays: Sequence[np.ndarray], *, word: str, use: int) -> Parts:
        """Returns what `split_trajectories` does; use: what the draw is told apart from others under the seed by."""
        draws = np.random.default_rng([self.seed, use])
        return split_trajectories(arrays, word=word, validation=self.validation, test=self.test, generator=draws)
