"""What `recipe=forms` refuses before anything is loaded."""

from __future__ import annotations

from typing import TypeVar

from data.forms.vocabulary import read_vocabulary
from models.forms.detect.boxes import WORDS_ALONE
from models.forms.detect.detector import Settings
from models.forms.recognise.character import Character
from models.forms.recognise.page_reader import ConvolveAttendSpell
from models.forms.recognise.recogniser import RecogniserSettings
from models.forms.recognise.word import Word
from models.forms.refiner import GANRefiner
from pipeline.host.errors import PipelineError
from pipeline.settings.build import build
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.registry import refuse_other_records

Kind = TypeVar("Kind")
TRAINED_FIRST = "word"  # recogniser.start: a word model is trained before
FORMS, IMAGES = "data.form_images:HandwrittenForms", "data.word_images:HandwrittenWords"
WRITTEN = ("synthetic", "both")  # data.ink with training images that a program writes
TAKEN = {"segmentation": (FORMS,), "recognition": (IMAGES,), "pipeline": (FORMS,), "data": (FORMS, IMAGES)}
PARTS_OF_NAMES = "data.vocabulary=parts data.least=3"  # on composed forms
MIRRORS_NOTHING = (
    "forms.augment=flip: images of words are never mirrored, and no detector is trained; take forms.augment=thesis"
)
SLANTS_NOTHING = (
    "forms.augment=affine: images of words alone are slanted, and no recogniser of them is trained; take "
    "forms.augment=thesis"
)


def check(settings: FormsConfig) -> None:
    """Raises PipelineError for data of another stage, for a model that cannot be, and for scores it cannot have."""
    own = settings.forms
    if settings.dtype != "float32":
        raise PipelineError(f"recipe=forms computes with dtype=float32, got {settings.dtype}; leave it out")
    if isinstance(settings.data, dict):
        refuse_other_records(settings.data["_target_"], TAKEN[own.stage], f"forms.stage={own.stage}")
    refuse_refiner(settings)
    refuse_of_words(settings)
    if own.vocabulary is not None:
        check_vocabulary(settings, own.vocabulary)
    refuse_changes(settings)
    if settings.reader is not None:
        check_reader(settings)
        return
    if own.stage == "data":
        if settings.tracking.register is not None:
            raise PipelineError("tracking.register: forms.stage=data makes no model; leave it out")
        return
    if own.stage != "segmentation":
        refuse_words_of_strings(settings, recogniser_of(settings))
    if own.stage != "recognition" and not boxes_given(settings):
        check_detector(settings)


def refuse_changes(settings: FormsConfig) -> None:
    """Raises PipelineError for mirrors where no detector is trained, and for slant where no recogniser of words is."""
    own = settings.forms
    if own.augment == "flip" and not (own.stage in ("segmentation", "data") or trains_both(settings)):
        raise PipelineError(MIRRORS_NOTHING)
    if own.augment == "affine" and (own.stage == "segmentation" or settings.reader is not None):
        raise PipelineError(SLANTS_NOTHING)


def refuse_of_words(settings: FormsConfig) -> None:
    """Raises PipelineError for settings of the words of forms where these are not read one by one."""
    own = settings.forms
    if own.stage == "pipeline" and settings.reader is None:
        return
    if own.moved:
        raise PipelineError(
            f"forms.moved={own.moved:g}: only a recogniser that reads forms learns from moved boxes; take "
            "forms.moved=0, or forms.stage=pipeline and reader=two_phase"
        )
    if own.edges != "auto":
        raise PipelineError(
            f"forms.edges={own.edges}: no words are found and read here; take forms.edges=auto, or "
            "forms.stage=pipeline and reader=two_phase"
        )


def check_vocabulary(settings: FormsConfig, file: str) -> None:
    """Raises PipelineError for a vocabulary that corrects nothing, DataError for one that cannot be read."""
    if settings.forms.stage not in ("recognition", "pipeline") or settings.reader is not None:
        raise PipelineError(f"forms.vocabulary={file}: no texts are corrected here; leave it out")
    if not settings.forms.corrected_within:
        raise PipelineError(f"forms.vocabulary={file} with forms.corrected_within=0: nothing is corrected; raise it")
    read_vocabulary(file, where="forms.vocabulary")


def trains_both(settings: FormsConfig) -> bool:
    """Returns whether a detector and a recogniser are trained."""
    return settings.forms.stage == "pipeline" and settings.reader is None and not boxes_given(settings)


def boxes_given(settings: FormsConfig) -> bool:
    """Returns whether forms are read in their true boxes, so that no detector is asked for."""
    return settings.forms.stage == "pipeline" and settings.forms.boxes == "truth"


def check_reader(settings: FormsConfig) -> None:
    """Raises PipelineError for a reader of whole forms that cannot be, and where no whole forms are read."""
    page_reader_of(settings)
    for key, asked, wanted in (
        ("forms.stage", settings.forms.stage, "pipeline"), ("forms.boxes", settings.forms.boxes, "found"),
        ("forms.alphabet", settings.forms.alphabet, "texts"),
    ):  # fmt: skip
        if asked != wanted:
            raise PipelineError(
                f"{key}={asked}: a reader of whole forms finds no boxes and writes blanks between words; take "
                f"{key}={wanted}, or reader=two_phase"
            )


def check_detector(settings: FormsConfig) -> None:
    """Raises PipelineError for a detector that cannot be, and for one that does not find what is scored."""
    detector = detector_of(settings)
    if settings.forms.scored == "classes" and detector.kinds == WORDS_ALONE:
        raise PipelineError(
            f"forms.scored=classes: {type(detector).__name__} finds words alone; take forms.scored=words"
        )


def detector_of(settings: FormsConfig) -> Settings:
    """Returns the settings of the detector. Raises PipelineError for one that cannot be."""
    return built("detector", settings, Settings)


def recogniser_of(settings: FormsConfig) -> RecogniserSettings:
    """Returns the settings of the recogniser. Raises PipelineError for one that cannot be."""
    return built("recogniser", settings, RecogniserSettings)


def page_reader_of(settings: FormsConfig) -> ConvolveAttendSpell:
    """Returns the settings of the reader of whole forms. Raises PipelineError for one that cannot be."""
    return built("reader", settings, ConvolveAttendSpell)


def refiner_of(settings: FormsConfig) -> GANRefiner | None:
    """Returns the settings of the refiner, None without one. Raises PipelineError for one that cannot be."""
    return None if settings.refiner is None else built("refiner", settings, GANRefiner)


def refuse_refiner(settings: FormsConfig) -> None:
    """Raises PipelineError for a refiner where no recogniser learns from ink that a program writes."""
    if refiner_of(settings) is None:
        return
    if settings.forms.stage != "recognition":
        raise PipelineError(
            f"refiner=gan with forms.stage={settings.forms.stage}: images of words are refined, and no forms; take "
            "forms.stage=recognition, or refiner=none"
        )
    ink = settings.data.get("ink")
    if ink not in WRITTEN:
        of = "these data have no synthetic ink" if ink is None else f"data.ink={ink} has no synthetic ink"
        raise PipelineError(f"refiner=gan: {of} to be refined; take data=dhsd data.ink=synthetic, or refiner=none")


def built(group: str, settings: FormsConfig, kind: type[Kind]) -> Kind:
    """Returns what a group of the settings builds. Raises PipelineError where it cannot be, or is of another kind."""
    own = build(group, getattr(settings, group), settings.extensions)
    if not isinstance(own, kind):
        raise PipelineError(f"{group}: {type(own).__name__} is no {group}; choose one of conf/{group}")
    return own


def refuse_words_of_strings(settings: FormsConfig, recogniser: RecogniserSettings) -> None:
    """Raises PipelineError for a word model of whole names of DHSD, most of which are in no training image."""
    asked = word_model_of(recogniser)
    if asked and settings.data.get("vocabulary") == "strings":
        taken = "data=dhsd_parts or data=composed_words"
        raise PipelineError(
            f"{asked} with data.vocabulary=strings: a word model reads training texts alone, and most names of the "
            f"test part are none; take {taken if settings.forms.stage == 'recognition' else PARTS_OF_NAMES}"
        )


def word_model_of(recogniser: RecogniserSettings) -> str | None:
    """Returns the setting that has a word model trained, as it was typed; None where none has."""
    if isinstance(recogniser, Character):
        return f"recogniser.start={TRAINED_FIRST}" if recogniser.start == TRAINED_FIRST else None
    return "recogniser=word" if isinstance(recogniser, Word) else None
