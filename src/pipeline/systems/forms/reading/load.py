"""Forms to be read, and the images of their words, from which a recogniser learns."""

from __future__ import annotations

from data.form_images import PARTS, FormImages, HandwrittenForms
from data.word_images import HandwrittenWords, WordImages
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.segmentation import load as segmentation


def load(settings: FormsConfig) -> HandwrittenForms:
    """Returns the forms, cut as `size` says. Raises PipelineError where data= names none, and for a part without a
    word."""
    data = segmentation.load(settings)
    segmentation.check_boxes(data, "words")
    return data


def words_of(data: HandwrittenForms) -> HandwrittenWords:
    """Returns the words of the forms as images, cut out at their true boxes. Raises PipelineError for a word whose text
    is not known."""
    parts = {name: cut_out(data.parts[name], f"{data.name}, {name} part") for name in PARTS}
    return HandwrittenWords(f"{data.name}: words", parts, data.source, stand_in=data.stand_in)


def cut_out(forms: FormImages, where: str) -> WordImages:
    """Returns the words of some forms in reading order."""
    images, texts = [], []
    for number, form in enumerate(forms.forms(), start=1):
        for box in form.reading().tolist():
            if not form.texts[box].strip():
                raise PipelineError(f"{where}, form {number}, box {box + 1}: it is a word without a text; give one")
            images.append(form.crop(box))
            texts.append(form.texts[box])
    return WordImages.of(images, texts)
