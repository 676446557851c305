"""Synthetic ink that is made to look like real ink by two networks that work against each other (Shrivastava et al.
2017)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, softplus

from models.ranges import Count, NotNegative, Positive
from models.runtime.parameters import not_negative, number, whole_number
from models.runtime.seeding import drawn, generator

LITTLE = -4.0  # the logit of what the refiner erases and adds before training: 2 % of it
LEAST_SIDE = 8  # pixels


@dataclass(frozen=True, kw_only=True)
class GANRefiner:
    """`refiner=gan`. width: channels. units: residual units of the refiner. closeness: μ, what a changed pixel costs.
    steps: of training. batch: images of a step, of each kind. history: earlier outputs that are kept. rate: of Adam.
    Raises TypeError and ValueError for others."""

    width: Count = 16
    units: Count = 4
    closeness: NotNegative = 0.1
    steps: Count = 300
    batch: Count = 16
    history: Count = 256
    rate: Positive = 0.001

    def __post_init__(self) -> None:
        for name in ("width", "units", "steps", "batch", "history"):
            whole_number(name, getattr(self, name))
        not_negative("closeness", self.closeness)
        number("rate", self.rate)
        if self.batch < 2:
            raise ValueError(f"batch must be at least 2, as half of it are earlier outputs; got {self.batch}")


class Refiner(nn.Module):
    """Changes ink x to R(x) = x (1 − e) + (1 − x) a, where e, the share that is erased, and a, what is added, lie in
    (0, 1) and are said by residual units for each pixel.

    So R(x) lies in [0, 1], and is nearly x before training. There is no stride and no normalisation: an image of any
    size keeps it, and images of a batch do not see each other.
    """

    def __init__(self, settings: GANRefiner) -> None:
        super().__init__()
        own = settings.width
        self.settings = settings
        self.stem = nn.Conv2d(1, own, 3, padding=1)
        self.first = nn.ModuleList(nn.Conv2d(own, own, 3, padding=1) for _ in range(settings.units))
        self.second = nn.ModuleList(nn.Conv2d(own, own, 3, padding=1) for _ in range(settings.units))
        self.say = nn.Conv2d(own, 2, 1)
        for own, value in zip(self.say.parameters(), (0.0, LITTLE), strict=True):  # weight and bias
            nn.init.constant_(own, value)

    def forward(self, ink: Tensor) -> Tensor:
        """Returns refined ink of the same shape, (image, 1, height, width), in [0, 1]."""
        maps = self.stem(ink).relu()
        for first, second in zip(self.first, self.second, strict=True):
            maps = (maps + second(first(maps).relu())).relu()
        erased, added = self.say(maps).sigmoid().chunk(2, 1)
        return ink * (1 - erased) + (1 - ink) * added

    @torch.inference_mode()
    def refined(self, images: Sequence[Tensor]) -> list[Tensor]:
        """Returns each image of ink (height, width), of any size, as refined."""
        return [self.eval()(own[None, None].float())[0, 0] for own in images]


class PatchDiscriminator(nn.Module):
    """Says of every patch of an image, one for each 8 × 8 pixels, how probable it is that it is synthetic."""

    def __init__(self, width: int) -> None:
        super().__init__()
        widths = [1, width, 2 * width, 2 * width]
        self.layers = nn.ModuleList(nn.Conv2d(*own, 3, stride=2, padding=1) for own in pairwise(widths))
        self.say = nn.Conv2d(widths[-1], 1, 1)

    def forward(self, ink: Tensor) -> Tensor:
        """Returns the logit of D, (image, row, column), for ink (image, 1, height, width)."""
        for layer in self.layers:
            ink = leaky_relu(layer(ink), 0.2)
        return self.say(ink)[:, 0]


def refiner_loss(logits: Tensor, refined: Tensor, ink: Tensor, closeness: float) -> Tensor:
    """Returns L_R = Σ −ln(1 − D(R(x))) + μ ‖R(x) − x‖₁, sums over patches and pixels, the mean over the images.

    logits: of D(R(x)), (image, row, column). refined, ink: R(x) and x, (image, 1, height, width). closeness: μ.
    """
    return (softplus(logits).sum() + closeness * (refined - ink).abs().sum()) / len(ink)


def discriminator_loss(synthetic: Tensor, real: Tensor) -> Tensor:
    """Returns L_D = −Σ ln D(R(x)) − Σ ln(1 − D(real)), sums over patches, each the mean over its images.

    synthetic, real: logits of D, (image, row, column).
    """
    return softplus(-synthetic).sum() / len(synthetic) + softplus(real).sum() / len(real)


@dataclass(eq=False)
class History:
    """Keeps earlier outputs of the refiner, so that the discriminator does not forget them (section 2.3 of the paper).

    most: how many are kept. generator: draws which are shown and which are replaced.
    """

    most: int
    generator: torch.Generator
    kept: list[Tensor] = field(default_factory=list)

    def mixed(self, refined: Tensor) -> Tensor:
        """Returns a batch of the same size whose second half are earlier outputs, as soon as there are enough, and
        keeps the first half, in place of some that were kept where there is no room."""
        half = len(refined) // 2
        shown = torch.randperm(len(self.kept), generator=self.generator)[:half].tolist()
        batch = refined
        if len(shown) == half:
            batch = torch.cat([refined[: len(refined) - half], torch.stack([self.kept[place] for place in shown])])
        self.keep(refined[:half])
        return batch

    def keep(self, refined: Tensor) -> None:
        """Keeps images, each in the place of one that is drawn where there is no room."""
        for own in refined:
            if len(self.kept) < self.most:
                self.kept.append(own)
            else:
                self.kept[int(torch.randint(self.most, (), generator=self.generator))] = own


class Trained(NamedTuple):
    """Holds a refiner, and L_R and L_D of each step, (step, 2)."""

    refiner: Refiner
    losses: Tensor


def trained_refiner(settings: GANRefiner, synthetic: Tensor, real: Tensor, *, seed: int = 0) -> Trained:
    """Returns a refiner that was trained on images of ink, float32 (image, height, width) in [0, 1], of one size.

    In each step the discriminator learns from a batch of real images and one of refined ones, half of them earlier
    outputs; then the refiner learns from the same synthetic images. It is short, and begins anew where it was broken
    off; the same seed gives the same weights. Raises ValueError for images that cannot be, and for losses that are not
    finite.
    """
    refuse_bad(synthetic, real)
    with drawn(seed, "forms/refiner"):
        refiner, judge = Refiner(settings).to(real.device), PatchDiscriminator(settings.width).to(real.device)
    optimisers = [torch.optim.Adam(own.parameters(), settings.rate, betas=(0.5, 0.999)) for own in (refiner, judge)]
    chance = generator(seed, "forms/refiner/batches")
    history, losses = History(settings.history, generator(seed, "forms/refiner/history")), list[tuple[float, float]]()
    for _ in range(settings.steps):
        ink, true = (batch_of(own, settings.batch, chance) for own in (synthetic, real))
        refined = refiner(ink)
        judged = discriminator_loss(judge(history.mixed(refined.detach())), judge(true))
        stepped(optimisers[1], judged)
        loss = refiner_loss(judge(refined), refined, ink, settings.closeness)
        stepped(optimisers[0], loss)
        losses.append((float(loss.detach()), float(judged.detach())))
    return Trained(refiner.eval(), torch.tensor(losses))


def refuse_bad(synthetic: Tensor, real: Tensor) -> None:
    """Raises ValueError unless both are images of one size in [0, 1], of at least 8 pixels each way."""
    for name, own in (("synthetic", synthetic), ("real", real)):
        if own.ndim != 3 or not len(own) or min(own.shape[1:]) < LEAST_SIDE or own.shape[1:] != synthetic.shape[1:]:
            raise ValueError(
                f"{name} images have shape {tuple(own.shape)}, synthetic ones {tuple(synthetic.shape)}; give (image, "
                f"height, width), both of one size and of at least {LEAST_SIDE} × {LEAST_SIDE} pixels"
            )
        if not bool(((own >= 0) & (own <= 1)).all()):
            raise ValueError(f"{name} images have ink outside 0 to 1; give 0 for paper and 1 for black")


def batch_of(images: Tensor, count: int, chance: torch.Generator) -> Tensor:
    """Returns so many images that are drawn, (image, 1, height, width); an image may come twice."""
    rows = torch.randint(len(images), (count,), generator=chance)
    return images[rows.to(images.device)].unsqueeze(1).float()


def stepped(optimiser: torch.optim.Optimizer, loss: Tensor) -> None:
    """Takes a step down the gradient of the optimiser's own parameters. Raises ValueError for a loss that is not
    finite."""
    if not bool(loss.isfinite()):
        raise ValueError(f"the refiner's training has a loss of {float(loss.detach())}; take a smaller rate")
    own = [parameter for group in optimiser.param_groups for parameter in group["params"]]
    optimiser.zero_grad()
    loss.backward(inputs=own)
    optimiser.step()
