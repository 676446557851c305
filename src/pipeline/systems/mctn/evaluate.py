"""The stage that scores the test part, once, by the network that is kept, and beside it a simple baseline."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from data.utterances import Part, Utterances
from models.mctn.baselines import Baseline, baseline, reads
from models.mctn.objective import Measured
from models.mctn.samples import Samples, without
from pipeline.host.errors import PipelineError
from pipeline.settings.messages import of_section, one_line
from pipeline.systems.mctn.fitting import FittedSentimentNetwork
from pipeline.systems.mctn.missing import is_the_same
from pipeline.systems.mctn.observed import observed_parts
from pipeline.systems.mctn.roles import roles_of
from pipeline.systems.mctn.scores import lacking, outputs_of, predicted, scores_of, unread

R2 = {"translation": "translation_r2_{}", "second": "translation_r2_{}", "cycle": "cycle_r2"}


class Evaluated(NamedTuple):
    """Holds what a network does on the test part.

    outputs: scores (sample,) or probabilities (sample, class), NaN for a sample without a step to read. missing: the
    same where modalities are missing; None where that was not asked for. measured: with encodings and translations.
    scores: by the names of metrics.
    """

    outputs: np.ndarray
    missing: np.ndarray | None
    measured: Measured
    scores: dict[str, float]


def evaluate(fitted: FittedSentimentNetwork, data: Utterances, test: Samples, *, missing: str | None) -> Evaluated:
    """Returns outputs and scores of the test part.

    missing: letters of modalities that a second pass is without. A network that reads none of them has to predict the
    same, bit by bit, whatever they hold: missing_equal, 1 or 0.
    """
    outputs, measured = outputs_of(fitted.network, test, terms=fitted.terms)
    scores = {f"test_{name}": value for name, value in scores_of(data, data.test, outputs).items()}
    absent = unread(outputs)
    scores |= {"unread": absent, **explained(measured.explained)}
    if absent:
        read = " or ".join(roles_of(fitted.network.plan.arm).sources)
        tqdm.write(lacking(absent, data, read), file=sys.stderr)
    lesser = None
    if missing is not None:
        lesser, _ = outputs_of(fitted.network, without(test, missing), terms=frozenset())
        scores |= {f"missing_{name}": value for name, value in scores_of(data, data.test, lesser).items()}
        scores["missing_unread"] = unread(lesser)
        same = is_the_same(fitted.network, test, missing, terms=fitted.terms)
        scores |= {} if same is None else {"missing_equal": float(same)}
    return Evaluated(outputs, lesser, measured, scores)


def explained(shares: Mapping[str, float]) -> dict[str, float]:
    """Returns R² of translations by the names of metrics, of `{"translation a": 0.5}`."""
    named = {tuple(name.split(" ")): value for name, value in shares.items()}
    return {R2[term].format(stream): value for (term, stream), value in named.items()}


class Simple(NamedTuple):
    """Holds a fitted baseline, and its outputs on validation and test part, as `Evaluated` has them."""

    model: Baseline
    validation: np.ndarray
    outputs: np.ndarray


def fit_baseline(name: str, data: Utterances) -> Simple:
    """Returns the baseline of a name. Raises ValueError for data that lack what it reads."""
    parts = observed_parts(data, name)
    model = baseline(name).fit(parts["train"], parts["validation"])
    return Simple(model, model.predict(parts["validation"]), model.predict(parts["test"]))


def bar_of(name: str | None, data: Utterances) -> dict[str, float]:
    """Returns the scores of the baseline that stands beside a network, and how many samples it left out; none where the
    data lack what it reads, which is said."""
    if name is None:
        return {}
    try:
        with of_section("data"):
            data.check_roles(reads(name))
        fitted = fit_baseline(name, data)
    except (ValueError, PipelineError) as error:
        tqdm.write(f"mctn.bar={name} stands beside nothing: {one_line(error)}")
        return {}
    scores = scores_of(data, data.test, fitted.outputs) | {"unread": unread(fitted.outputs)}
    return {f"bar_{score}": value for score, value in scores.items()}


def prediction_table(part: Part, outputs: np.ndarray, missing: np.ndarray | None = None) -> pd.DataFrame:
    """Returns a row per test sample: name, group, part, label, prediction, the number of a class where there are
    some; and the prediction where modalities are missing."""
    columns = {
        "name": part.names, "group": part.groups, "part": "test", "label": part.labels.numpy(),
        "prediction": predicted(outputs),
    }  # fmt: skip
    if missing is not None:
        columns["prediction_missing"] = predicted(missing)
    return pd.DataFrame(columns)
