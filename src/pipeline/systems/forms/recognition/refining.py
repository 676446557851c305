"""The stage that refines: training images that a program wrote are made to look like the training part's real ink."""

from __future__ import annotations

from dataclasses import replace

import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

from data.base import spread
from data.word_images import HandwrittenWords, WordImages
from models.forms.images import as_grey, of_one_size
from models.forms.refiner import GANRefiner, Refiner, Trained, trained_refiner
from pipeline.host.errors import PipelineError, said_of
from pipeline.job.checkpoint import find, fitting, save
from pipeline.job.curve_report import curve_figure
from pipeline.job.study import Study, log_metrics
from pipeline.settings.build import build
from pipeline.systems.forms.checks import refiner_of
from pipeline.systems.forms.config import FormsConfig
from pipeline.systems.forms.recognition.figures import before_and_after
from pipeline.systems.forms.recognition.load import inks_of

SAVED, LOSSES = "refiner.npz", "losses"
MOST = 1000  # images of each kind that a refiner learns from
LABELS = {"refiner_loss": "loss of the refiner", "discriminator_loss": "loss of the discriminator"}
REAL = {"ink": "dhsd", "least": 1}  # settings of the data with which all training images are real


def refined(settings: FormsConfig, data: HandwrittenWords, here: Study, device: torch.device) -> HandwrittenWords:
    """Returns the data with refined images in place of the training images that a program wrote, or as they are where
    `refiner=none`.

    The refiner learns from these images and from the real ink of the same training part, with data.ink=synthetic too:
    there a recogniser sees no real image, and the refiner sees them without their texts. No held part is read. Raises
    PipelineError where no training image is synthetic.
    """
    own = refiner_of(settings)
    if own is None:
        return data
    with here.clock.stage("refiner"):
        train, real = data.parts["train"], real_words(settings)
        rows = written_rows(train, real)
        written = train.at(rows)
        shown = real.at(spread(len(real), fewer(settings.size.sequences)))
        trained = refiner_for(own, inks_of(written), inks_of(shown), here, seed=settings.seed, device=device)
        after = images_by(trained.refiner, written, device)
        log_refined(here, trained, len(rows))
        if here.full:
            here.run.figure(before_and_after(written, after, shown, title=here.title), "figures/refined")
    return replace(data, parts={**data.parts, "train": with_images(train, rows, after)})


def real_words(settings: FormsConfig) -> WordImages:
    """Returns the real images of the training part: those of the same settings with DHSD's ink."""
    data = build("data", {**settings.data, **REAL}, settings.extensions)
    return data.parts["train"]


def written_rows(train: WordImages, real: WordImages) -> list[int]:
    """Returns which training images a program wrote: those that are none of the real ones. Raises PipelineError where
    there is none."""
    known = set(real.digests)
    rows = [row for row, digest in enumerate(train.digests) if digest not in known]
    if not rows:
        raise PipelineError("refiner=gan: no training image is synthetic; raise size.sequences, or take refiner=none")
    return rows


def fewer(most: int | None) -> int:
    """Returns how many images of each kind a refiner learns from at most."""
    return MOST if most is None else min(MOST, most)


def refiner_for(
    own: GANRefiner, synthetic: list[Tensor], real: list[Tensor], here: Study, *, seed: int, device: torch.device
) -> Trained:
    """Returns the refiner of a run: read from its folder where it was trained before the run was stopped."""
    path = here.folder / SAVED
    saved = find(path)
    if saved is not None:
        with fitting(path):
            losses, refiner = saved.tensors.pop(LOSSES), Refiner(own)
            refiner.load_state_dict(saved.tensors)
        return Trained(refiner.eval().to(device), losses)
    few = [synthetic[row] for row in spread(len(synthetic), len(real)).tolist()]
    inks = of_one_size([*few, *real]).to(device)
    tqdm.write(f"refiner: {own.steps} steps on {len(few)} synthetic and {len(real)} real training images")
    with said_of("refiner"):
        trained = trained_refiner(own, inks[: len(few)], inks[len(few) :], seed=seed)
    save(path, {**trained.refiner.state_dict(), LOSSES: trained.losses}, {})
    return trained


def images_by(refiner: Refiner, words: WordImages, device: torch.device) -> WordImages:
    """Returns images as a refiner makes them, with their texts and writers."""
    inks = refiner.refined([own.to(device) for own in inks_of(words)])
    return WordImages.of([as_grey(own) for own in inks], words.texts, words.writers)


def with_images(words: WordImages, rows: list[int], after: WordImages) -> WordImages:
    """Returns images of words of which some, by number, are replaced by others."""
    new = dict(zip(rows, after.images(), strict=True))
    images = [new.get(row, image) for row, image in enumerate(words.images())]
    return WordImages.of(images, words.texts, words.writers)


def log_refined(here: Study, trained: Trained, count: int) -> None:
    """Logs how many images were refined, and the losses of each step as a curve."""
    here.run.tags({"refiner": type(trained.refiner.settings).__name__})
    log_metrics(here.run, {"data/images_refined": float(count)})
    table = pd.DataFrame(trained.losses.numpy(), columns=list(LABELS))
    table.insert(0, "step", range(1, len(table) + 1))
    for name in LABELS:
        for step, value in zip(table["step"], table[name], strict=True):
            here.run.metric(f"refiner/{name}", float(value), int(step))
    here.run.table(table, "curves/refiner.csv")
    if here.full:
        here.run.figure(curve_figure(table, len(table), LABELS, f"{here.title}: refiner"), "figures/refiner")
    tqdm.write(f"refiner: {count} training images refined")
