"""What `recipe=experts` refuses before anything is loaded."""

from __future__ import annotations

from models.experts.scores import metrics
from models.sequence.vocabulary import library
from pipeline.host.errors import PipelineError, said_of
from pipeline.settings.schema import refuse_repeated
from pipeline.systems.experts.arms import adapting_of, architecture_of, mixing_of, parts_of
from pipeline.systems.experts.config import ExpertsConfig


def check(settings: ExpertsConfig) -> None:
    """Raises PipelineError for a package that is missing, for an arm that does not exist, and for settings that do not
    go together."""
    check_packages()
    with said_of(f"experts.arm={settings.experts.arm}"):
        parts_of(settings.experts.arm)
    with said_of("experts"):
        mixing_of(settings).check_layers(settings.translator.layers)
    with said_of("adapter"):
        adapting_of(settings)
    many = max(3, settings.adapter.count or 0)  # the data say how many tasks there are
    with said_of("translator"):
        architecture_of(settings, pieces=1, tasks=many)
    fit = settings.fit
    if fit.select == "bleu" and fit.bleu == 0:
        raise PipelineError("fit.select=bleu needs translations to score; leave out fit.bleu=0")
    check_fewshot(settings)
    longest, tokens = settings.vocabulary.longest, settings.sampling.tokens
    if longest > tokens:
        raise PipelineError(
            f"vocabulary.longest={longest} is more than sampling.tokens={tokens}, so that a batch may not hold a pair; "
            "lower the first or raise the second"
        )


def check_tasks(settings: ExpertsConfig, tasks: int) -> None:
    """Raises PipelineError, which says what to set, for an arm whose adapters are chosen where the data have fewer than
    three tasks, or fewer tasks than adapters."""
    arm, count = settings.experts.arm, settings.adapter.count or 0
    _, kind = parts_of(arm)
    if kind in ("dynamic", "shared") and tasks < max(3, count):
        raise PipelineError(
            f"experts.arm={arm}: adapter {kind} needs at least 3 tasks and 2 to that many adapters, and there "
            f"{'is 1 task, a pair' if tasks == 1 else f'are {tasks} tasks, pairs'} of languages; "
            + (f"take experts.arm={arm.replace(kind, 'static')}" if tasks < 3 else f"lower adapter.count={count}")
        )


def check_packages() -> None:
    """Raises PipelineError, which says how to install it, without a package that texts or scores need."""
    try:
        library()
        metrics()
    except ImportError as error:
        raise PipelineError(f"recipe=experts: {error}") from error


def check_fewshot(settings: ExpertsConfig) -> None:
    """Raises PipelineError for parts that the arm does not have and that should learn new tasks."""
    own, (_, adapter) = settings.fewshot, parts_of(settings.experts.arm)
    refuse_repeated("fewshot.languages", own.languages)
    wanted = {"adapters": ("static",), "tasks": ("dynamic", "shared"), "tasks+gates": ("dynamic", "shared")}
    if own.languages and adapter not in wanted.get(own.adapt, (adapter,)):
        arms = " or ".join(f"token+{kind}" for kind in wanted[own.adapt])
        raise PipelineError(
            f"fewshot.adapt={own.adapt} means nothing to experts.arm={settings.experts.arm}; take {arms}"
        )
