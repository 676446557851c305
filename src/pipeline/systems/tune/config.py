"""The settings of `recipe=tune`, which are those of the recipe that it searches and a section of its own."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from hydra.core.hydra_config import HydraConfig
from omegaconf import MISSING

from pipeline.host.errors import PipelineError
from pipeline.settings.choices import section_of_choice
from pipeline.settings.command_line import typed_choice
from pipeline.settings.fields import setting
from pipeline.systems.registry import function, system

SEARCHED = system("psrnn")
Searched: Any = SEARCHED.settings
LISTS = ("space", "readouts")  # of what is drawn, in the order in which it is drawn
READOUT, LAGS = "readout", "readout.lags"
NO_TRIAL = "recipe=tune is a multirun that is tracked; start it by +experiment=tune"


@dataclass
class DrawnConfig:
    """Holds a setting that a search draws: from `low` to `high` (both whole: whole numbers), or one of `choices`.

    key: of the setting, or a config group, whose choices are drawn. where: values, by key, that settings drawn before
    have to have; else this one is not drawn.
    """

    key: str = MISSING
    low: int | float | None = setting(None, finite=True)
    high: int | float | None = setting(None, finite=True)
    log: bool = False
    choices: list[Any] | None = None
    where: dict[str, list[Any]] = field(default_factory=dict)


@dataclass
class SearchConfig:
    trials: int = setting(above=0, cap="trials")
    trial: int | None = setting(None, at_least=0)
    space: list[DrawnConfig] = MISSING
    readouts: list[DrawnConfig] = field(default_factory=list)
    known: list[str] = field(default_factory=list)
    prune: bool = True
    warmup: int = setting(at_least=0)
    storage: str | None = None


@dataclass
class TuneConfig(Searched):
    """Holds the settings of `recipe=tune`: those of the recipe that is searched, and the section `tune`."""

    tune: SearchConfig = field(default_factory=SearchConfig)


def check(settings: TuneConfig) -> None:
    """Raises PipelineError for settings that the searched recipe refuses, and for a space that nothing is drawn
    from."""
    if SEARCHED.check is not None:
        function(SEARCHED.check)(settings)
    if not settings.tune.space:
        empty = "tune.space is empty; name what is to be drawn, as in conf/experiment/tune.yaml"
        raise PipelineError(NO_TRIAL if settings.tracking.parent is None else empty)
    before: set[str] = set()
    for name in LISTS:
        for drawn in getattr(settings.tune, name):
            check_drawn(drawn, f"tune.{name}")
            check_where(drawn, before, f"tune.{name}")
            before.add(drawn.key)
    check_lags(settings)


def drawn_settings(settings: TuneConfig) -> list[DrawnConfig]:
    """Returns all that is drawn, in the order in which it is drawn: the model's settings, then those of its readout."""
    return [drawn for name in LISTS for drawn in getattr(settings.tune, name)]


def list_with(settings: TuneConfig, key: str) -> str:
    """Returns the name of the list that draws a key."""
    return next(
        (f"tune.{name}" for name in LISTS for drawn in getattr(settings.tune, name) if drawn.key == key), "tune"
    )


def check_where(drawn: DrawnConfig, before: set[str], place: str) -> None:
    """Raises PipelineError for a setting that hangs on one that is not drawn before it. place: the list that it stands
    in."""
    for key in drawn.where:
        if key not in before:
            raise PipelineError(
                f"{place}: {drawn.key} hangs on {key}, which is not drawn before it; put {key} in front of it, or "
                "leave it out of where"
            )


def check_drawn(drawn: DrawnConfig, place: str) -> None:
    """Raises PipelineError for a setting without choices, without numbers to draw between, or with a logarithm of
    numbers that are not above 0. place: the list that it stands in."""
    if drawn.choices is not None:
        if not drawn.choices:
            raise PipelineError(f"{place}: {drawn.key} has no choices; name at least one")
        return
    if drawn.low is None or drawn.high is None or not drawn.low < drawn.high:
        raise PipelineError(f"{place}: {drawn.key} needs low < high, or choices")
    if drawn.log and drawn.low <= 0:
        raise PipelineError(f"{place}: {drawn.key} is drawn by its logarithm, so low={drawn.low} must be above 0")


def most_of(drawn: DrawnConfig) -> float:
    """Returns the largest number that may be drawn for a setting; 0 where none of its choices is one."""
    if drawn.choices is None:
        return drawn.high or 0
    return max((choice for choice in drawn.choices if isinstance(choice, int | float)), default=0)


def draws_lags_of(drawn: DrawnConfig, readout: str) -> bool:
    """Returns whether a drawn setting gives a readout its lags, whatever else is drawn."""
    return drawn.key == LAGS and set(drawn.where) <= {READOUT} and readout in drawn.where.get(READOUT, [readout])


def are_typed(key: str) -> bool:
    """Returns whether the command line of the job gives a setting a value, which all trials then have where they do not
    draw it."""
    return HydraConfig.initialized() and typed_choice(key, HydraConfig.get().overrides.task) is not None


def lags_to_draw(drawn: DrawnConfig, settings: TuneConfig) -> list[tuple[str, float]]:
    """Returns what a drawn setting may give trials as lags of the readout, each in words and with their count: those
    that it draws, or those of the readouts that it draws where no other setting draws their lags. Lags that are typed
    take the place of the readouts' own. They are the same for all trials where none are drawn."""
    every, typed = drawn_settings(settings), are_typed(LAGS)
    if drawn.key == LAGS:
        return [(f"{LAGS} up to {most_of(drawn):g}", most_of(drawn))]
    if drawn.key != READOUT or (typed and all(other.key != LAGS for other in every)):
        return []
    names = [str(choice) for choice in drawn.choices or []]
    own = {name: settings.readout.lags if typed else (section_of_choice(READOUT, name) or {}).get("lags")
           for name in names}  # fmt: skip
    return [
        (f"{READOUT}={readout}, which has {lags} lags", lags)
        for readout, lags in own.items()
        if lags and not any(draws_lags_of(other, readout) for other in every)
    ]


def check_lags(settings: TuneConfig) -> None:
    """Raises PipelineError where trials may have more lags of the readout than rows come before the first scored step:
    a trial is scored from its lags on, and errors over unlike steps cannot be compared."""
    first_step = settings.evaluate.first_step
    every = [
        (lags, drawn, words) for drawn in drawn_settings(settings) for words, lags in lags_to_draw(drawn, settings)
    ]
    most, drawn, words = max(every, key=lambda own: own[0], default=(0, None, ""))
    if drawn is not None and most > first_step:
        raise PipelineError(
            f"{list_with(settings, drawn.key)} draws {words}, and evaluate.first_step is {first_step}: trials would be "
            f"scored over unlike steps; give evaluate.first_step={most:g}"
        )


SYSTEM = replace(
    SEARCHED,
    settings=TuneConfig,
    entry="pipeline.systems.tune.recipe:trial",
    check="pipeline.systems.tune.config:check",
)
