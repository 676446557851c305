"""Forms to be read, and what a recogniser learns from: the images of their words, or whole forms with their texts."""

from __future__ import annotations

from data.form_images import PARTS, FormImages, HandwrittenForms
from data.word_images import HandwrittenWords, WordImages
from pipeline.host.errors import PipelineError
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.segmentation import load as segmentation


def load(settings: FormsConfig, *, shared: bool) -> HandwrittenForms:
    """Returns the forms, cut as `size` says. shared: as of `data_of`. Raises PipelineError where data= names none, and
    for a part without a word."""
    data = segmentation.load(settings, shared=shared)
    segmentation.check_boxes(data, "words")
    return data


def words_of(data: HandwrittenForms) -> HandwrittenWords:
    """Returns the words of the forms as images, cut out at their true boxes. Words of two forms may look equal, as
    printed ones do: forms were parted whole, and no two parts share one."""
    return images_of(data, "words", {name: cut_out(data.parts[name]) for name in PARTS})


def pages_of(data: HandwrittenForms, most: int) -> HandwrittenWords:
    """Returns the forms that have words as images of their texts, words in reading order with blanks between. Raises
    PipelineError, naming the first, for a training form with more than `most` characters."""
    for number, form in enumerate(data.parts["train"].forms(), start=1):
        if len(form.text()) > most:
            raise PipelineError(
                f"{data.name}: form {number} of the train part has {len(form.text())} characters, and "
                f"reader.characters={most}; raise it"
            )
    return images_of(data, "forms", {name: whole(data.parts[name]) for name in PARTS})


def images_of(data: HandwrittenForms, called: str, parts: dict[str, WordImages]) -> HandwrittenWords:
    """Returns images cut out of forms as data to learn from. called: what they show, as "words"."""
    name, stand_in, invert = f"{data.name}: {called}", data.stand_in, data.invert
    return HandwrittenWords(name, parts, data.source, stand_in=stand_in, invert=invert, of_forms=True)


def whole(forms: FormImages) -> WordImages:
    """Returns those of some forms that have words, each as one image."""
    written = [form for form in forms.forms() if form.text()]
    return WordImages.of([form.image for form in written], [form.text() for form in written])


def cut_out(forms: FormImages) -> WordImages:
    """Returns the words of some forms in reading order."""
    words = [(form.crop(box), form.texts[box]) for form in forms.forms() for box in form.reading().tolist()]
    return WordImages.of([image for image, _ in words], [text for _, text in words])
