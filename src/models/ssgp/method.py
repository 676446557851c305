"""What learns a target from points: each class is a section `model=` of the configuration of `recipe=ssgp`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal


@dataclass(frozen=True, kw_only=True)
class PointModel:
    """Says what a model of points is; it holds no numbers.

    name: of the model, in tables and figures. inputs: what it learns from: the inputs as they are given, as many
    principal components of them as the autoencoder has latent dimensions, or what the autoencoder reconfigures them to.
    draws: frequencies are drawn by a sampler. counted: it has a number of frequencies, or of inducing points.
    random: its fit depends on the seed. linear: it is solved, not trained by iterations. peer: it is GPyTorch's, for
    comparison. changes: what it is an SSGP with something changed of, to be compared with the SSGP itself.
    """

    name: ClassVar[str]
    inputs: ClassVar[Literal["given", "principal", "autoencoder"]] = "given"
    draws: ClassVar[bool] = False
    counted: ClassVar[bool] = False
    random: ClassVar[bool] = True
    linear: ClassVar[bool] = False
    peer: ClassVar[bool] = False
    changes_ssgp: ClassVar[bool] = False


class SparseSpectrum(PointModel):
    """Is the section `model=ssgp`: a sparse-spectrum Gaussian process with a length-scale for each input."""

    name = "ssgp"
    draws = counted = True
    trains_frequencies: ClassVar[bool] = False


class Spectrum(SparseSpectrum):
    """Is the section `model=spectrum`: an SSGP whose frequencies are trained too."""

    name = "spectrum"
    trains_frequencies = changes_ssgp = True


class Revisited(SparseSpectrum):
    """Is the section `model=revisited`: an SSGP on inputs that an autoencoder reconfigured."""

    name, inputs = "revisited", "autoencoder"
    changes_ssgp = True


class Principal(SparseSpectrum):
    """Is the section `model=pca`: an SSGP on principal components of the inputs."""

    name, inputs = "pca", "principal"


class Linear(PointModel):
    """Is the section `model=ridge`: linear ridge regression; nothing in it is drawn."""

    name = "ridge"
    linear, random = True, False


class RevisitedLinear(Linear):
    """Is the section `model=vae_ridge`: linear ridge regression on inputs that an autoencoder reconfigured."""

    name, inputs = "vae_ridge", "autoencoder"
    random = True


class RandomFourier(PointModel):
    """Is the section `model=rff`: GPyTorch's exact inference with its random Fourier features, drawn independently."""

    name = "rff"
    peer = counted = True


class Variational(PointModel):
    """Is the section `model=svgp`: GPyTorch's variational process, with two inducing points for each frequency."""

    name = "svgp"
    peer = counted = True


class Exact(PointModel):
    """Is the section `model=full_gp`: GPyTorch's exact process by Cholesky; only which rows it takes is drawn, where
    there are more than it can take."""

    name = "full_gp"
    peer, random = True, False


MODELS: dict[str, type[PointModel]] = {
    kind.name: kind
    for kind in (
        SparseSpectrum,
        Spectrum,
        Revisited,
        Principal,
        RandomFourier,
        Variational,
        Linear,
        RevisitedLinear,
        Exact,
    )
}


def arm_of(model: str, sampler: str) -> str:
    """Returns the name of a model in comparisons: with the sampler where frequencies are drawn, as "ssgp/iid".

    GPyTorch's features are drawn independently, whatever the sampler: "rff/iid".
    """
    if model == RandomFourier.name:
        return f"{model}/iid"
    return f"{model}/{sampler}" if MODELS[model].draws else model
