"""Forms to be read, and the images of their words, from which a recogniser learns."""

from __future__ import annotations

from data.form_images import PARTS, FormImages, HandwrittenForms
from data.word_images import HandwrittenWords, WordImages
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.segmentation import load as segmentation


def load(settings: FormsConfig) -> HandwrittenForms:
    """Returns the forms, cut as `size` says. Raises PipelineError where data= names none, and for a part without a
    word."""
    data = segmentation.load(settings)
    segmentation.check_boxes(data, "words")
    return data


def words_of(data: HandwrittenForms) -> HandwrittenWords:
    """Returns the words of the forms as images, cut out at their true boxes."""
    parts = {name: cut_out(data.parts[name]) for name in PARTS}
    return HandwrittenWords(f"{data.name}: words", parts, data.source, stand_in=data.stand_in)


def cut_out(forms: FormImages) -> WordImages:
    """Returns the words of some forms in reading order."""
    words = [(form.crop(box), form.texts[box]) for form in forms.forms() for box in form.reading().tolist()]
    return WordImages.of([image for image, _ in words], [text for _, text in words])
