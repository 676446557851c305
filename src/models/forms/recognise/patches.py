"""Images of words as sequences of patches, each with features of its own (thesis, 2.2.3.3)."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn.functional import pad

from models.forms.images import Crops
from models.sequence.masks import present_steps
from models.sequence.packing import Padded

GROUP = 16  # channels that are normalised together


def patch_counts(widths: Tensor, *, width: int, step: int) -> Tensor:
    """Returns how many patches images of so many pixels have, 1 + ⌈(widths − width) / step⌉, at least one."""
    return 1 + (widths - width + step - 1).div(step, rounding_mode="floor").clamp(min=0)


def patches_of(crops: Crops, *, width: int, step: int) -> tuple[Tensor, Tensor]:
    """Returns patches (image, patch, height, width), one begins every `step` pixels, and how many each image has; paper
    stands past an image's end."""
    counts = patch_counts(crops.widths, width=width, step=step)
    needed = width + step * (int(counts.max()) - 1)
    ink = pad(crops.ink, (0, max(0, needed - crops.ink.shape[3])))[:, 0, :, :needed]
    return ink.unfold(2, width, step).transpose(1, 2), counts


class PatchFeatures(nn.Module):
    """Gives each patch a vector: layers of two convolutions of 3 × 3 as in VGG (Simonyan and Zisserman 2015), each
    with group norm and ReLU, and a maximum over 2 × 2 pixels; then all of the patch.

    widths: channels of the layers, multiples of 16. No patch sees another.
    """

    def __init__(self, widths: Sequence[int], *, height: int, width: int, patch: int, step: int) -> None:
        super().__init__()
        self.patch, self.step = patch, step
        layers, inputs = list[nn.Module](), 1
        for outputs in widths:
            layers += [*convolved(inputs, outputs), nn.MaxPool2d(2)]
            inputs = outputs
        pixels = (height >> len(widths)) * (patch >> len(widths))
        self.layers = nn.Sequential(*layers, nn.Flatten(), nn.Linear(inputs * pixels, width), nn.ReLU())

    def forward(self, crops: Crops) -> Padded:
        """Returns features (image, patch, width), 0 past an image's end; patches that are absent are not looked at."""
        patches, counts = patches_of(crops, width=self.patch, step=self.step)
        present = present_steps(counts, patches.shape[1])
        found = self.layers(patches[present].unsqueeze(1))
        values = found.new_zeros(*present.shape, found.shape[1])
        values[present] = found
        return Padded(values, counts)


def convolved(inputs: int, outputs: int) -> list[nn.Module]:
    """Returns a convolution of 3 × 3, group norm and ReLU."""
    return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.GroupNorm(outputs // GROUP, outputs), nn.ReLU()]
