"""`recipe=predict`: predictions of a logged model on a new file, as CSV."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from data.base import Sequences
from data.files.table_files import TextFormat
from data.tables.sequences import read_new_sequences
from data.tables.taken_names import refuse_taken_time
from data.tables.zones import in_zone, times_after_in, uneven_in, working_day_steps_in
from models.forecasting.held_out import rows_seen
from models.forecasting.times_ahead import as_written
from pipeline.host.atomic import written_whole
from pipeline.host.digits import with_sure_digits
from pipeline.host.errors import PipelineError
from pipeline.host.torchrun import refuse_several
from pipeline.job.naming import short_word
from pipeline.settings.job import Job
from pipeline.settings.messages import in_a_setting, of_section
from pipeline.systems.predict.config import PredictConfig
from pipeline.systems.predict.documents import predicted_documents
from pipeline.systems.predict.forms import predicted_forms, predicted_words
from pipeline.systems.predict.others import refuse_others
from pipeline.systems.predict.points import predicted_points
from pipeline.systems.predict.sentences import predicted_sentences
from pipeline.systems.predict.utterances import predicted_utterances
from pipeline.tracking.model import load_model
from pipeline.tracking.store import open_store


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Writes a table as CSV. The final name appears only when the whole file is on disk. Raises PipelineError when it
    cannot be written."""
    try:
        with written_whole(path) as temporary:
            frame.to_csv(temporary, index=False)
    except OSError as error:
        raise PipelineError(f"output={path} cannot be written ({error.strerror or error})") from error


def write_predictions(frame: pd.DataFrame, path: Path, words: str) -> None:
    """Writes predictions as `write_csv` does, and prints `words` about them with the file, and whether it took the
    place of an older one."""
    replaced = path.exists()
    write_csv(frame, path)
    replacing = " (in place of an older file of this name; another output=FILE keeps both)" if replaced else ""
    print(f"{words}: {path}{replacing}")


def times_of_predictions(sequences: Sequences, horizon: int) -> pd.Index:
    """Returns the time of every row of the predictions, in the zone of the file's: the times of the file, or with a
    horizon those that come after them, dates as texts that a served model answers with too."""
    times, zone = sequences.times or (), sequences.zone
    seen = [pd.Index(in_zone(own, zone)) for own in times]
    first, *others = [pd.Index(times_after_in(own, horizon, zone)) for own in times] if horizon else seen
    if horizon and isinstance(first, pd.DatetimeIndex):
        return pd.Index(as_written([first, *others], seen), dtype=object)
    return first.append(others)


def said_of_uneven_times(sequences: Sequences) -> None:
    uneven = [own for own in sequences.times or () if uneven_in(own, sequences.zone)]
    working = [working_day_steps_in(own, sequences.zone) for own in uneven]
    if any(steps is not None and steps.max() > 1 for steps in working):
        print("working days are missing; the forecast's times go on from Monday to Friday, holidays among them")
    if any(steps is None for steps in working):
        print("times are uneven; the forecast's times go on by the median step of each sequence")


def model_columns(model: Any) -> list[str]:
    """Returns the columns of a logged forecaster."""
    return list(model.metadata.metadata["columns"])


def model_history(model: Any) -> int:
    """Returns `Forecaster.history` of a logged model; 0 for a model that was logged before the history was noted."""
    return int(model.metadata.metadata.get("history", 0))


def predictions(model: Any, frame: pd.DataFrame, settings: PredictConfig) -> pd.DataFrame:
    """Returns what the model says. Raises PipelineError for intervals from a model that has none."""
    asked: dict[str, Any] = {"interval": settings.interval} if settings.interval else {}
    if asked and "interval" not in str(model.metadata.get_params_schema()):
        raise PipelineError(
            f"interval={settings.interval}: this model was logged before models had intervals; train anew"
        )
    with warnings.catch_warnings():  # the model says it again, with the names of the sequences
        warnings.filterwarnings("ignore", "the forecast diverges: .* of the data fitted to")
        return model.predict(frame, params={"horizon": settings.horizon, **asked})


def said_of_short_ones(rows: Sequence[int], history: int) -> None:
    short = sum(count < history for count in rows)
    if short:
        print(
            f"{short} of {len(rows)} sequences {'have' if short > 1 else 'has'} fewer rows than the {history} that the "
            "model wants: after them a simpler forecast stands in for its own, and intervals are of its own"
        )


def said_of_unscored(model: Any, horizon: int) -> None:
    """Prints that the error of the furthest steps is not known, where the run that trained the model scored fewer."""
    scored = model.metadata.metadata.get("scored")  # None too for a model that was logged before it was noted
    if scored is not None and horizon > scored:
        horizons = ",".join(map(str, sorted({1, scored, horizon})))
        print(
            f"no error was measured beyond {scored} step{'s' * (scored > 1)} ahead; to measure it, train with "
            f"'evaluate.horizons=[{horizons}]' and parts that are long enough"
        )


def said_of_times_left_out(model: Any, time: str | None) -> None:
    """Prints how to add times, where the model's data had a column of them and none is named. time: the setting
    `data.time`."""
    known = model.metadata.metadata.get("time")
    if known is not None and time is None:
        setting = shlex.quote(f"data.time={in_a_setting(known)}")
        print(f"without times: the model's data had a column {known!r}; if this file has it, {setting} adds the times")


def said_of_groups_left_out(model: Any, group: str | None, sequences: int) -> None:
    """Prints how to forecast each group, where the model's data had a column of them, none is named and the file is
    one of so many `sequences`. group: the setting `data.group`."""
    known = model.metadata.metadata.get("group")  # None too for a model that was logged before it was noted
    if known is not None and group is None and sequences == 1:
        setting = shlex.quote(f"data.group={in_a_setting(known)}")
        print(
            f"without groups: all rows are one sequence; the model's data had a column {known!r}; if this file has it, "
            f"{setting} makes one forecast of each"
        )


def predicted_sequences(model: Any, settings: PredictConfig) -> tuple[pd.DataFrame, str]:
    """Returns what a forecaster says of the sequences of a file, and words about it. Raises PipelineError for settings
    of other models."""
    columns, data = model_columns(model), settings.data
    refuse_others(
        settings, ("horizon", "interval", "data.group", "data.time", "data.delimiter", "data.decimal"), "forecasts"
    )
    text = TextFormat(data.delimiter, data.decimal)
    with of_section("data"):
        sequences = read_new_sequences(data.path, text, columns=columns, group=data.group, time=data.time)
    frames = [
        pd.DataFrame(values, columns=columns).assign(sequence=name)
        for name, values in zip(sequences.names, sequences.to_arrays(), strict=True)
    ]
    predicted = predictions(model, pd.concat(frames, ignore_index=True), settings)
    names = predicted.pop("sequence")
    predicted = with_sure_digits(predicted, predicted.columns)
    predicted.insert(0, "sequence", names)
    predicted.insert(1, "step", predicted.groupby("sequence", sort=False).cumcount() + (1 if settings.horizon else 0))
    if sequences.times is not None and data.time not in columns:
        predicted.insert(2, data.time, times_of_predictions(sequences, settings.horizon))
        if settings.horizon:
            said_of_uneven_times(sequences)
    said_of_groups_left_out(model, data.group, len(sequences))
    said_of_times_left_out(model, data.time)
    said_of_unscored(model, settings.horizon)
    said_of_short_ones([rows_seen(values) for values in sequences.to_arrays()], model_history(model))
    what = f"forecasts of {settings.horizon} steps" if settings.horizon else "one-step predictions"
    return predicted, f"{what} for {len(sequences)} sequence{'s' * (len(sequences) > 1)}, {len(predicted)} rows"


def word_of_model(uri: str) -> str:
    """Returns a word for a model, by its URI: "2ea75be0" for runs:/2ea75be0e949…/model, "houses-best" for
    models:/houses@best. Other places give the words of their path, a long path its beginning and a hash."""
    run = re.fullmatch(r"runs:/([0-9a-f]{8})[0-9a-f]{24}/model", uri)
    path = re.sub(r"^[\w+-]+:(//[^/]*@)?|/model/*$", "", uri)
    return run[1] if run else short_word("-".join(re.findall(r"[^/@:]+", path)))


def output_of(settings: PredictConfig) -> Path:
    """Returns where the predictions go: without `output` a name of the file, of the model, and of what is asked, so
    that those of several models stay side by side, and one-step predictions beside a forecast. Raises PipelineError
    where that is the file that is read, or in no folder."""
    given, what = Path(settings.data.path).expanduser(), "forecast" if settings.horizon else "predictions"
    output = Path(settings.output or f"{given.stem}-{what}-{word_of_model(settings.model.uri)}.csv").resolve()
    if output.exists() and given.exists() and output.samefile(given):
        raise PipelineError(f"output={settings.output} is the file that is read; give another name, so that it stays")
    if not output.parent.is_dir():
        raise PipelineError(f"output={settings.output}: the folder {output.parent} is not there; make it")
    return output


def predict(settings: PredictConfig, job: Job) -> None:  # noqa: ARG001
    """Reads the file with the model's columns, predicts in the model's own units, and writes the predictions as CSV."""
    refuse_several("recipe=predict")
    output = output_of(settings)
    with of_section("data"):
        refuse_taken_time(settings.data.path, settings.data.time)
    open_store(settings.tracking.uri, wait=settings.tracking.wait)
    model = load_model(settings.model.uri, most_rows=None, refuses_diverged=None)
    taken = {
        "points": predicted_points, "utterances": predicted_utterances, "sentences": predicted_sentences,
        "documents": predicted_documents, "forms": predicted_forms,
        "words": predicted_words,
    }  # fmt: skip
    predict_with = taken.get(model.metadata.metadata.get("takes"), predicted_sequences)
    predicted, words = predict_with(model, settings)
    write_predictions(predicted, output, words)
