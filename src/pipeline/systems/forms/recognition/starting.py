"""Word models that were saved, whose trunk a character model begins with."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from data.files.download import sha256_of
from models.forms.recognise.saved import ARRAYS, load_recogniser
from models.forms.recognise.word import WordNetwork
from models.runtime.saved import refuse_missing
from pipeline.host.errors import PipelineError, said_of
from pipeline.systems.forms.checks import TRAINED_FIRST, recogniser_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.tracking.artifacts import fetched
from pipeline.tracking.ended import finished_run
from pipeline.tracking.model import PARAMETERS
from pipeline.tracking.run import scratch_folder
from pipeline.tracking.store import open_store

WORDS = "words"  # folder of a recogniser among the saved parameters of a run


def saved_word_model(start: str, settings: FormsConfig) -> WordNetwork:
    """Returns the word model that `saved_recogniser` finds. Raises PipelineError as that does, and for another
    recogniser."""
    with saved_recogniser(start, settings) as folder:
        return word_model_in(folder, start)


def start_digest(settings: FormsConfig) -> str:
    """Returns the SHA-256 of the weights that training begins with, as a name may mean another run later, and a folder
    may be written anew; "" where no saved model is named. Raises PipelineError as `saved_recogniser` does."""
    start = getattr(recogniser_of(settings), "start", None)
    if start in (None, TRAINED_FIRST):
        return ""
    with saved_recogniser(start, settings) as folder, said_of(f"recogniser.start={start}"):
        refuse_missing(folder, (ARRAYS,), what="recogniser")
        return sha256_of(folder / ARRAYS)


@contextmanager
def saved_recogniser(start: str, settings: FormsConfig) -> Iterator[Path]:
    """Gives the folder of that path, or that of the recogniser which the newest finished run of that name kept. Raises
    PipelineError where there is no such run, and for one that kept no recogniser."""
    folder = Path(start).expanduser()
    if folder.is_dir():
        yield folder
        return
    client = open_store(settings.tracking.uri)
    run = finished_run(client, start)
    with scratch_folder() as scratch:
        kept = fetched(client, run.info.run_id, PARAMETERS, scratch)
        if kept is None or not (kept / WORDS).is_dir():
            raise PipelineError(
                f"recogniser.start={start}: that run kept no recogniser; train one with tracking.log_model=true"
            )
        yield kept / WORDS


def word_model_in(folder: Path, start: str) -> WordNetwork:
    """Returns the word model that was saved in a folder. Raises PipelineError for another recogniser."""
    with said_of(f"recogniser.start={start}"):
        found, _ = load_recogniser(folder)
    if not isinstance(found, WordNetwork):
        raise PipelineError(f"recogniser.start={start}: {type(found.settings).__name__} is no word model; name one")
    return found
