"""The data of a run, cut as `size` says; jobs of one multirun over the same data load them once."""

from __future__ import annotations

from typing import Any

from data.files.download import data_root
from data.form_images import HandwrittenForms
from data.word_images import HandwrittenWords
from pipeline.host.errors import PipelineError
from pipeline.job.load_once import load_once
from pipeline.settings.build import build
from pipeline.systems.forms.config import FormsConfig

Data = HandwrittenForms | HandwrittenWords


def data_of(settings: FormsConfig, kinds: Any, said: str, *, shared: bool) -> Any:
    """Returns the data, cut as `size` says; with `shared` those of the job before, where they are the same.

    kinds: the classes of data that are taken. Raises PipelineError, with the line `said`, where data= names others.
    """
    most = settings.size.sequences

    def work() -> Data:
        data = build("data", settings.data, settings.extensions)
        if not isinstance(data, kinds):
            raise PipelineError(said)
        return data.shortened(train=most, held=most)

    return load_once(["forms", kinds, settings.data, most, data_root(None)], work) if shared else work()
