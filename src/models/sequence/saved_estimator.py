"""What estimators of sequences share: how they are saved and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from models.runtime.plain import made_of, plain


class SavedEstimator(BaseEstimator, ABC):
    """An estimator that is a predictor once it is fitted: `predictor_`, beside `curve_`, the losses of each epoch."""

    BEFORE: ClassVar[Mapping[str, Any]] = {}  # what held in estimators that were saved before the parameter was there
    predictor_: Any
    curve_: list[tuple[float, float]]

    @staticmethod
    @abstractmethod
    def _read(folder: str | Path) -> tuple[Any, dict[str, Any]]:
        """Returns the predictor that was saved in a folder, and the plain values that were saved with it."""

    def _as_set(self) -> Any:
        """Returns the fitted predictor, with what acts in prediction alone as the parameters say now."""
        return self.predictor_

    def save(self, folder: str | Path) -> None:
        """Writes the fitted estimator as plain numbers and texts, without pickle, into a new folder.

        Raises NotFittedError before `fit`, FileExistsError where something is there already, and ValueError for a
        parameter that plain values do not tell: a RandomState.
        """
        check_is_fitted(self)
        parameters = {name: plain(value, name) for name, value in self.get_params(deep=False).items()}
        self._as_set().save(folder, more={"parameters": parameters, "curve": self.curve_})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Returns the estimator that `save` wrote into a folder; it predicts the same. A parameter that it was saved
        without has the value of `BEFORE`. Nothing is unpickled. Raises ValueError for a folder without one."""
        predictor, more = cls._read(folder)
        if "parameters" not in more:
            raise ValueError(f"{folder} holds a model that no {cls.__name__} saved; read it by load_predictor")
        saved = {name: made_of(value) for name, value in more["parameters"].items()}
        made = cls(**{**cls.BEFORE, **saved})
        made.predictor_, made.curve_ = predictor, [(each[0], each[1]) for each in more["curve"]]
        return made
