"""Word models that were saved, whose trunk a character model begins with."""

from __future__ import annotations

from pathlib import Path

from models.forms.recognise.saved import load_recogniser
from models.forms.recognise.word import WordNetwork
from pipeline.host.errors import PipelineError, said_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.ended import finished_run
from pipeline.tracking.model import PARAMETERS
from pipeline.tracking.run import scratch_folder
from pipeline.tracking.store import open_store

WORDS = "words"  # folder of a recogniser among the saved parameters of a run


def saved_word_model(start: str, settings: FormsConfig) -> WordNetwork:
    """Returns the word model in a folder, or that of the newest finished run of that name. Raises PipelineError where
    there is none, for a run that kept no recogniser, and for another recogniser."""
    folder = Path(start).expanduser()
    if folder.is_dir():
        return word_model_in(folder, start)
    client = open_store(settings.tracking.uri)
    run = finished_run(client, start)
    with scratch_folder() as scratch:
        kept = fetched(client, run.info.run_id, PARAMETERS, scratch)
        if kept is None or not (kept / WORDS).is_dir():
            raise PipelineError(
                f"recogniser.start={start}: that run kept no recogniser; train one with tracking.log_model=true"
            )
        return word_model_in(kept / WORDS, start)


def word_model_in(folder: Path, start: str) -> WordNetwork:
    """Returns the word model that was saved in a folder. Raises PipelineError for another recogniser."""
    with said_of(f"recogniser.start={start}"):
        found, _ = load_recogniser(folder)
    if not isinstance(found, WordNetwork):
        raise PipelineError(f"recogniser.start={start}: {type(found.settings).__name__} is no word model; name one")
    return found
