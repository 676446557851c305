"""What Hydra needs before it composes a configuration: the schemas and the resolvers of conf/."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from pipeline.host.process import prepare_environment


def at_most(value: int, limit: int | None) -> int:
    """Returns a value of an experiment's sweep, lowered to the limit of `size`: `${at_most:20,${size.seeds}}`."""
    return value if limit is None else min(value, limit)


def fresh(first: int, number: int, limit: int | None) -> int:
    """Returns the end of a range of `number` seeds that begins with the seed `first`:
    `range(10,${fresh:10,20,${size.seeds}})`. Where the limit of `size` is less, the range has so many seeds."""
    return first + at_most(number, limit)


def up_to(values: list[int], limit: int | None) -> str:
    """Returns the values of a sweep up to the limit of `size`, comma separated: `${up_to:[5,10,20],${size.count}}`.
    Where all are above the limit, it returns the limit itself."""
    kept = [value for value in values if limit is None or value <= limit]
    return ",".join(map(str, kept or [limit]))


def contenders(data: list[str]) -> str:
    """Returns every file of contender/DATA/, of conf/ and of a person's own folder (--config-dir), as the choices of a
    sweep, comma separated: `${contenders:[mocap,swimmer]}`. Raises PipelineError for a folder without any."""
    from pipeline.host.errors import PipelineError
    from pipeline.settings.choices import choices_of, groups_in
    from pipeline.settings.nearest import no_such_choice

    found = {name: choices_of(f"contender/{name}") for name in data}
    unknown = [name for name, files in found.items() if not files]
    if unknown:
        raise PipelineError(no_such_choice("contenders", unknown[0], groups_in("contender")))
    return ",".join(f"{name}/{file}" for name, files in found.items() for file in files)


def by_choice(choice: str, own: Mapping[str, float | str], otherwise: float | str) -> float | str:
    """Returns the value of a choice in a sweep; `otherwise` where the choice has no value of its own:
    `${by_choice:${mctn.arm},{none-t:0.01},0.003}`."""
    return own.get(choice, otherwise)


def pipeline_store() -> str:
    """Returns the folder of the local store: `${pipeline_store:}`."""
    from pipeline.host.paths import store_folder

    return str(store_folder())


def register_resolvers(resolvers: Iterable[Callable[..., str | float]] = ()) -> None:
    """Makes the resolvers of all recipes and those of single recipes known to OmegaConf, each by the name of its
    function."""
    from omegaconf import OmegaConf

    for resolver in (at_most, fresh, up_to, contenders, by_choice, pipeline_store, *resolvers):
        OmegaConf.register_new_resolver(resolver.__name__, resolver, replace=True)


def share_schemas() -> None:
    """Lets Hydra's copies of its repository share the store of schemas, which gives out copies itself.

    Hydra makes such a copy for each list of a group's choices: 150 of them, two seconds, for one `--help`.
    """
    from hydra.core.config_store import ConfigStore

    setattr(ConfigStore, "__deepcopy__", lambda store, memo: store)  # noqa: ARG005, B010


def prepare_process(schemas: Mapping[str, type], resolvers: Iterable[Callable[..., str | float]] = ()) -> None:
    """Sets up all that Hydra needs before it composes a configuration. It is called once in the first process, and in
    each worker before its first configuration is composed.

    schemas: of every recipe, by its name. resolvers: of single recipes.
    """
    from pipeline.settings.schema import register_schemas

    prepare_environment()
    share_schemas()
    register_schemas(schemas)
    register_resolvers(resolvers)
