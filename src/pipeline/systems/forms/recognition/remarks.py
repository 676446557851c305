"""What a run says where its recogniser has learned too little to be of use, and what to try next."""

from __future__ import annotations

from pipeline.job.curve import Progress
from pipeline.systems.forms.config import FormsFit

BEHIND = 5.0  # points of the character error rate, from which on the nearest training image is clearly ahead
ENOUGH = 1500  # updates, after which a recogniser of a dozen words reads them


def advice(read: float, nearest: float | None, curve: Progress | None, own: FormsFit) -> list[str]:
    """Returns one line with the number of updates and what to try, where the recogniser has learned too little; else
    none, as for one that was not to be trained.

    That is so where the nearest training image has clearly fewer wrong characters on the validation part, where no
    epoch is better than the model before training, and where the last epoch was kept after fewer than `ENOUGH` updates.
    The test part has no say in what is tried. read, nearest: wrong characters of the validation part in %, as they are
    read, and of the nearest training images; None where these were not looked for.
    """
    if curve is None or curve.rows[-1].step == 0:
        return []
    said, updates = [*behind(read, nearest), *kept_in_words(curve)], curve.rows[-1].step
    return [f"After {updates} updates {', and '.join(said)}; to try: {to_try(curve, own)}"] if said else []


def behind(read: float, nearest: float | None) -> list[str]:
    """Returns words about the nearest training image, where it is clearly ahead on the validation part."""
    if nearest is None or read < nearest + BEHIND:
        return []
    return [f"the recogniser is behind the nearest training image ({read:.4g} and {nearest:.4g} % wrong characters on "
            "the validation part)"]  # fmt: skip


def kept_in_words(curve: Progress) -> list[str]:
    """Returns words about the kept epoch, where it says that training was too short."""
    last = curve.rows[-1]
    if curve.kept.epoch == 0 or curve.kept.cost == curve.rows[0].cost:
        return ["no epoch is better than the model before training"]
    if curve.kept.epoch == last.epoch and last.step < ENOUGH:
        return ["the last epoch is the best one"]
    return []


def to_try(curve: Progress, own: FormsFit) -> str:
    """Returns what may help. Fewer updates than `ENOUGH` become so many, and more twice as many where the best epoch is
    the last one. Where patience ended the training it is left out. Else more epochs gain nothing, as where training was
    taken back: smaller steps may, or more images."""
    last = curve.rows[-1]
    if own.patience is not None and last.epoch < own.epochs:
        return "recognition.patience=null"
    if not last.accepted or (last.step >= ENOUGH and curve.kept.epoch < last.epoch):
        return f"recognition.learning_rate={own.learning_rate / 2:g}, or more images"
    wanted = ENOUGH if last.step < ENOUGH else 2 * last.step
    return f"recognition.epochs={-(-wanted * last.epoch // last.step)} (about {wanted} updates)"
