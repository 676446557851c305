"""The stage that trains: a recogniser learns texts of images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from tqdm import tqdm

from data.forms.augment import Augmentation
from data.forms.vocabulary import read_texts, read_vocabulary
from data.word_images import HandwrittenWords, WordImages
from models.forms.images import MOST_WIDTH, crop_width, scaled_width
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.character import CharacterNetwork
from models.forms.recognise.correction import Correction
from models.forms.recognise.error_rates import character_error_rate, word_accuracy
from models.forms.recognise.frames import FrameRecogniser
from models.forms.recognise.objective import RecognitionObjective
from models.forms.recognise.recogniser import Recogniser, RecogniserSettings
from models.forms.recognise.word import Word, WordNetwork
from pipeline.host.errors import PipelineError, said_of
from pipeline.job.curve import Progress
from pipeline.job.study import Study
from pipeline.systems.forms.checks import TRAINED_FIRST, recogniser_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.learning import Lesson, learn
from pipeline.systems.forms.recognition.load import Copies, Moved, alphabet_of, inks_of, spelt
from pipeline.systems.forms.recognition.starting import saved_word_model

MOVED_CER = "validation_cer_moved_boxes"


class FittedRecogniser(NamedTuple):
    """Holds a recogniser, the correction by its training texts, the curve of its training where there was one, and its
    character error rate on the validation part, in %."""

    recogniser: Recogniser
    correction: Correction | None
    curve: Progress | None
    validation: float


class Untrained(NamedTuple):
    """Holds a recogniser before its training, and the correction by its training texts."""

    recogniser: Recogniser
    correction: Correction | None


def untrained(settings: FormsConfig, data: HandwrittenWords, device: torch.device) -> Untrained:
    """Returns the recogniser for a training part, with the trunk of a saved word model where one is named. Raises
    PipelineError, before anything is trained, for what `alphabet_of`, `correction_of`, `refuse_too_long` and
    `saved_word_model` refuse, and for settings that no network can have."""
    alphabet = alphabet_of(settings.forms.alphabet, data)
    texts = spelt(alphabet, data.parts["train"])
    correction = correction_of(settings, alphabet, texts)
    with said_of("recogniser"):
        own = prepared(recogniser_of(settings), texts, alphabet)
        recogniser = own.network(alphabet, seed=settings.seed).to(device)
    refuse_too_long(recogniser, data, texts)
    start = recogniser.settings.start if isinstance(recogniser, CharacterNetwork) else None
    if isinstance(recogniser, CharacterNetwork) and start is not None and start != TRAINED_FIRST:
        begin(recogniser, saved_word_model(start, settings))
    return Untrained(recogniser, correction)


def fit(
    settings: FormsConfig, own: Untrained, data: HandwrittenWords, here: Study, moved: Moved | None = None
) -> FittedRecogniser:
    """Returns the recogniser, fitted to the training part. moved: as of `Copies`."""
    recogniser, correction = own
    if isinstance(recogniser, CharacterNetwork) and recogniser.settings.start == TRAINED_FIRST:
        begin(recogniser, word_model(recogniser, settings, data, here))
    lesson = lesson_of(settings, recogniser, data, spelt(recogniser.alphabet, data.parts["train"]), moved)
    curve = learn(lesson, settings.recognition, here, settings.seed)
    validation = settled(recogniser, curve.kept.values["validation_cer"], data)
    return FittedRecogniser(recogniser.eval(), correction, curve, validation)


def correction_of(settings: FormsConfig, alphabet: Alphabet, texts: Sequence[str]) -> Correction | None:
    """Returns the correction by the texts of `forms.vocabulary`, as the alphabet spells them, else by training texts;
    None where none is asked for. Raises PipelineError for a vocabulary of which the alphabet leaves nothing."""
    own = settings.forms
    if not own.corrected_within:
        return None
    if own.vocabulary is None:
        return Correction.of_texts(texts, most=own.corrected_within)
    known = [alphabet.spelt(text) for text in read_vocabulary(own.vocabulary, where="forms.vocabulary")]
    words = tuple(dict.fromkeys(word for word in known if word))
    if not words:
        raise PipelineError(
            f"forms.vocabulary={own.vocabulary}: forms.alphabet={own.alphabet} has no character of any of its "
            f"{len(known)} texts; take forms.alphabet=texts"
        )
    return Correction(words, own.corrected_within)


def say_what_vocabulary_loses(settings: FormsConfig, alphabet: Alphabet) -> None:
    """Prints how many texts of `forms.vocabulary`, as the alphabet spells them, come again or have no character of it,
    each with the first one: these are left out of the correction."""
    own = settings.forms
    if not own.corrected_within or own.vocabulary is None:
        return
    texts = read_texts(own.vocabulary, where="forms.vocabulary")
    words = [alphabet.spelt(text) for text in texts]
    first = {word: place for place, word in reversed(list(enumerate(words)))}
    again = [texts[place] for place, word in enumerate(words) if word and first[word] < place]
    empty = [text for text, word in zip(texts, words, strict=True) if not word]
    front = f"forms.vocabulary={own.vocabulary}: left out"
    for lost, why in (
        (again, "an earlier one says the same"),
        (empty, f"no character of forms.alphabet={own.alphabet}"),
    ):
        if lost:
            tqdm.write(f"{front} {len(lost)} of {len(texts)} texts ({why}), the first {lost[0]!r}")


def begin(recogniser: CharacterNetwork, word: WordNetwork) -> None:
    """Gives a character model the trunk of the word model that `recogniser.start` names. Raises PipelineError for one
    of another height or width."""
    with said_of(f"recogniser.start={recogniser.settings.start}"):
        recogniser.start(word)


def word_model(like: CharacterNetwork, settings: FormsConfig, data: HandwrittenWords, here: Study) -> WordNetwork:
    """Returns a word model of the same shape, trained on the same images for as many epochs."""
    texts, shape = spelt(like.alphabet, data.parts["train"]), like.settings
    word = Word(height=shape.height, width=shape.width).prepared(texts, like.alphabet)
    network = word.network(like.alphabet, seed=settings.seed).to(like.say.weight.device)
    learn(lesson_of(settings, network, data, texts)._replace(title="word"), settings.recognition, here, settings.seed)
    return network


def prepared(own: Any, texts: Sequence[str], alphabet: Alphabet) -> RecogniserSettings:
    """Returns the settings with what they take from training texts before any gradient, such as a vocabulary."""
    return own.prepared(texts, alphabet) if hasattr(own, "prepared") else own


def widths_of(words: WordImages, height: int) -> torch.Tensor:
    """Returns how wide the crop of each image is at a height, in pixels, (image,)."""
    return torch.tensor([crop_width(shape, height) for shape in words.shapes.tolist()])


def refuse_too_long(recogniser: Recogniser, data: HandwrittenWords, texts: Sequence[str]) -> None:
    """Raises PipelineError, naming the first, for training texts that need more frames than their images have."""
    words, height = data.parts["train"], recogniser.settings.height
    frames = recogniser.frames(widths_of(words, height))
    if frames is None:
        return
    for number, (symbols, there) in enumerate(zip(recogniser.alphabet.encode(texts), frames.tolist(), strict=True)):
        needed = recogniser.frames_needed(symbols)
        if needed > there:
            advice = frames_more(words.shapes[number].tolist(), height, needed / max(there, 1))
            raise PipelineError(
                f"{data.name}: {data.called('train', number)} needs {needed} frames and has {there}; {advice}"
            )


def frames_more(shape: Sequence[int], height: int, times: float) -> str:
    """Returns what gives an image of a shape so many times the frames that it has at a height."""
    width = crop_width(shape, height)
    if width == MOST_WIDTH:
        return f"no image is read wider than {MOST_WIDTH} pixels, so cut it in two, or leave it out"
    wider = times * width / scaled_width(shape, height)
    return f"make the image at least {wider:.2f} times as wide, raise recogniser.height, or leave it out"


def enough_frames(recogniser: Recogniser, texts: Sequence[str]) -> Callable[[int, tuple[int, ...]], bool]:
    """Returns what says whether an image (height, width) of a shape has frames enough for the text of a number."""
    needed = [recogniser.frames_needed(symbols) for symbols in recogniser.alphabet.encode(texts)]

    def fits(number: int, shape: tuple[int, ...]) -> bool:
        frames = recogniser.frames(torch.tensor([crop_width(shape, recogniser.settings.height)]))
        return frames is None or int(frames) >= needed[number]

    return fits


def lesson_of(
    settings: FormsConfig,
    recogniser: Recogniser,
    data: HandwrittenWords,
    texts: Sequence[str],
    moved: Moved | None = None,
) -> Lesson:
    """Returns what the recogniser minimises and what is measured after each epoch. What decides is the error rate of
    the validation part, in moved boxes where words of training are moved."""
    train = data.parts["train"]
    augmentation = Augmentation(settings.forms.augment, settings.seed)
    copies = Copies(train, augmentation, moved, enough_frames(recogniser, texts))
    widths = widths_of(train, recogniser.settings.height).tolist()
    objective = RecognitionObjective(recogniser, copies, texts, widths, batch=settings.recognition.batch)

    inks = None if moved is None else moved.held_inks()

    def measure() -> dict[str, float]:
        scores = held_out_scores(recogniser, data, search=False)
        more = {} if inks is None else {MOVED_CER: error_rate(recogniser, inks, data)}
        return {**objective.noted.taken(), **scores, **more}

    return Lesson(objective, len(train), measure, "validation_cer" if moved is None else MOVED_CER, "recogniser")


def error_rate(recogniser: Recogniser, inks: Sequence[torch.Tensor], data: HandwrittenWords) -> float:
    """Returns the error rate of characters at a glance, in %, in other images of the validation part's words."""
    true = spelt(recogniser.alphabet, data.parts["validation"])
    return character_error_rate([own.text for own in recogniser.read_words(inks, search=False)], true)


def settled(recogniser: Recogniser, path: float, data: HandwrittenWords) -> float:
    """Returns the error rate of characters on the validation part. A language model with which it is larger is left
    out of the recogniser, which is said. path: the rate at a glance."""
    if not isinstance(recogniser, FrameRecogniser) or recogniser.settings.language is None:
        return path
    found = held_out_scores(recogniser, data)["validation_cer"]
    if path < found:
        recogniser.leave_language_out()
        print(f"language model: left out, as the validation part has {path:.4g} % wrong characters without it, "
              f"{found:.4g} % with it")  # fmt: skip
    return min(path, found)


def held_out_scores(recogniser: Recogniser, data: HandwrittenWords, *, search: bool = True) -> dict[str, float]:
    """Returns the error rate of characters and the accuracy of words on the validation part; at a glance without
    search."""
    held = data.parts["validation"]
    true = spelt(recogniser.alphabet, held)
    read = [own.text for own in recogniser.read_words(inks_of(held), search=search)]
    return {"validation_cer": character_error_rate(read, true), "validation_word_accuracy": word_accuracy(read, true)}
