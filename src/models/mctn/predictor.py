"""A fitted network with its units: sequences in, scores or classes out, and back from disk without pickle."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from models.mctn.arms import MODALITIES
from models.mctn.network import Architecture, SentimentNetwork
from models.mctn.objective import Measured, measure
from models.mctn.samples import Samples, Stream, in_units
from models.numerics.standardisation import Standardisation
from models.runtime.parameters import shown
from models.runtime.saved import read_tensors, readable, refuse_missing
from models.runtime.whole_folder import folder_written_whole
from models.sequence.packing import Packed

MOST_STEPS = 10_000  # of a modality of one sample, as where data are loaded
OF_TEXTS = 'the arm "none-t" reads text alone, and the notebook sentiment_of_your_reviews makes arrays of texts'

DESCRIPTION, ARRAYS = "sentiment.json", "sentiment.npz"
NETWORK, UNITS = "network/", "units/"  # in front of the names of their arrays


@dataclass(frozen=True, eq=False)
class SentimentPredictor:
    """Predicts from sequences in their own units.

    network: fitted, in evaluation mode. units: of each modality that is read, by letter; numbers are standardised in
    their precision, double where a column may lie far from 0. classes: what the outputs stand for, none for a score.
    """

    network: SentimentNetwork
    units: Mapping[str, Standardisation]
    classes: tuple[Any, ...] = ()

    def outputs(self, samples: Mapping[str, Sequence[Any]]) -> np.ndarray:
        """Returns scores (sample,) or probabilities (sample, class).

        samples: for each modality that the arm reads one array (step, number) a sample, by name; whatever else there is
        is not looked at. A sample without a step gives NaN, and one warning names how many there are. Raises ValueError
        as `streams_of`.
        """
        found = self.measured(samples)
        outputs, missing = found.outputs.double().numpy(), found.encodings.isnan().any(1).numpy()
        if missing.any():
            first = int(np.flatnonzero(missing)[0])
            warnings.warn(f"sample {first} (and {missing.sum() - 1} more) has no step to read: NaN", stacklevel=3)
        return outputs

    def measured(self, samples: Mapping[str, Sequence[Any]]) -> Measured:
        """Returns what the network finds, with NaN for encodings of samples without a step."""
        letters = self.network.plan.read
        dtype, precision = self.network.scale.dtype, self.units[letters[0]].mean.dtype
        streams = streams_of(samples, letters, self.network.architecture.widths, dtype=precision)
        inside = Samples({letter: in_units(stream, self.units[letter], dtype) for letter, stream in streams.items()})
        return measure(self.network, inside, terms=frozenset())

    def save(self, folder: str | Path, *, more: Mapping[str, Any] | None = None) -> None:
        """Writes sentiment.json (the architecture, and `more` plain values) and sentiment.npz (its numbers) into a new
        folder, which appears under its name when it is whole. Raises FileExistsError where something is there."""
        arrays = {NETWORK + name: value for name, value in self.network.state_dict().items()}
        for letter, units in self.units.items():
            arrays |= {f"{UNITS}{letter}/{name}": value for name, value in units._asdict().items()}
        description = {
            "architecture": asdict(self.network.architecture), "classes": list(self.classes), "more": dict(more or {}),
        }  # fmt: skip
        with folder_written_whole(Path(folder)) as partial:
            (partial / DESCRIPTION).write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
            plain: dict[str, Any] = {name: value.cpu().numpy() for name, value in arrays.items()}
            np.savez(partial / ARRAYS, allow_pickle=False, **plain)


def load_predictor(folder: str | Path) -> tuple[SentimentPredictor, dict[str, Any]]:
    """Returns the predictor that `save` wrote into a folder, and the values that were written with it. Nothing is
    unpickled. Raises ValueError for a folder without one, and for files that are damaged."""
    folder = Path(folder)
    refuse_missing(folder, (DESCRIPTION, ARRAYS))
    with readable(folder):
        description = json.loads((folder / DESCRIPTION).read_text(encoding="utf-8"))
        arrays = read_tensors(folder / ARRAYS)
        network = SentimentNetwork(Architecture(**description["architecture"]), seed=0)
        state = {name.removeprefix(NETWORK): value for name, value in arrays.items() if name.startswith(NETWORK)}
        network.to(state["scale"].dtype).load_state_dict(state)
        units = {
            letter: Standardisation(*(arrays[f"{UNITS}{letter}/{name}"] for name in Standardisation._fields))
            for letter in network.plan.read
        }
        return SentimentPredictor(network.eval(), units, tuple(description["classes"])), description["more"]


def streams_of(
    samples: Mapping[str, Sequence[Any]],
    letters: str,
    widths: Mapping[str, int] | None = None,
    *,
    dtype: torch.dtype = torch.float32,
) -> dict[str, Stream]:
    """Returns the modalities of these letters as streams, from one array (step, number) a sample, by name.

    Raises ValueError, naming modality, sample and step, where a modality is missing, samples differ in number, a shape
    or width is another one, and for a number that is not finite.
    """
    names = [MODALITIES[letter] for letter in letters]
    missing = [name for name in names if name not in samples]
    if missing:
        alone = f"; {OF_TEXTS}" if any(isinstance(text, str) for text in samples.get("text", ())) else ""
        raise ValueError(
            f"no modality {missing[0]}: give {', '.join(names)}, one array (step, number) a sample each{alone}"
        )
    counts = {name: count_of(name, samples[name]) for name in names}
    if len(set(counts.values())) > 1:
        raise ValueError(f"modalities differ in their number of samples: {counts}")
    if not counts[names[0]]:
        raise ValueError("there is no sample")
    return {letter: stream_of(MODALITIES[letter], samples, (widths or {}).get(letter), dtype) for letter in letters}


def count_of(name: str, arrays: Any) -> int:
    """Returns how many samples a modality has. Raises ValueError for what is no list of arrays."""
    if not isinstance(arrays, str | bytes):
        try:
            return len(arrays)
        except TypeError:
            pass
    raise ValueError(f"{name} must be a list with one array (step, number) a sample, got {shown(arrays)}")


def stream_of(name: str, samples: Mapping[str, Sequence[Any]], width: int | None, dtype: torch.dtype) -> Stream:
    """Returns one modality as a stream. Raises ValueError as `streams_of`."""
    arrays = [numbers_of(array, f"{name}, sample {place}") for place, array in enumerate(samples[name])]
    for place, array in enumerate(arrays):
        wanted = width or arrays[0].shape[-1]
        if array.ndim != 2 or array.shape[1] != wanted:
            raise ValueError(f"{name}, sample {place}: expected shape (step, {wanted}), got {array.shape}")
        if len(array) > MOST_STEPS:
            raise ValueError(f"{name}, sample {place}: {len(array)} steps; at most {MOST_STEPS}; give fewer")
        if not np.isfinite(array).all():
            step, column = np.argwhere(~np.isfinite(array))[0]
            raise ValueError(
                f"{name}, sample {place}, step {step}, number {column}: not a finite number; leave the step out"
            )
    return Stream(Packed.of(arrays, dtype=dtype))


def numbers_of(array: Any, where: str) -> np.ndarray:
    """Returns the numbers of a sample as doubles. Raises ValueError for texts, a single number and whatever else is no
    array of numbers."""
    if not isinstance(array, str | bytes):
        try:
            numbers = np.asarray(array, np.float64)
        except (TypeError, ValueError):
            numbers = np.empty(())
        if numbers.ndim:
            return numbers
    raise ValueError(
        f"{where}: must be an array (step, number), got {shown(array)}; give a text as the vectors of its words, as "
        "the notebook sentiment_of_your_reviews does, or train on texts with the recipe mctn of the command line"
    )
