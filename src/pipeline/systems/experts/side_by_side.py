"""Translations of the same sentences by each arm, one below the other."""

from __future__ import annotations

from typing import Any

import pandas as pd

from pipeline.compare.markdown import escaped, markdown_table
from pipeline.systems.experts.scores import SENTENCE

EXAMPLES, SAID = "examples.csv", "translations.md"
SHOWN = 10  # sentences of a task
GENERATED = "simulated"  # source of data whose sentences nobody has written, and which stand for no others
TASKS, OF_TASK = 3, 1  # of generated data: tasks on the page, sentences of each
HEAD = "Translations of generated sentences"


def side_by_side(jobs: Any, written: dict[str, pd.DataFrame], count: int = SHOWN) -> pd.DataFrame:
    """Returns a row per data set, task, sentence and arm: the translation of each of the first `count` sentences of a
    task, by the first seed that most arms have. All arms have the same sentences.

    jobs: as `labels.labelled` gives them. written: translations of the test part by run.
    """
    tables = []
    for data, own in jobs.groupby("data", sort=False):
        some = of_one_seed(own[own["run_id"].isin(list(written))])
        arms = {str(job["arm"]): by_sentence(written[str(job["run_id"])]) for job in some.to_dict("records")}
        for sentence in in_common(list(arms.values()), count):
            front = {"data": data, "seed": int(some["seed"].iloc[0]), **dict(zip(SENTENCE, sentence, strict=True))}
            texts = [own[sentence] for own in arms.values()]
            tables.append(pd.DataFrame({**front, "arm": list(arms), "translation": texts}))
    return pd.concat(tables, ignore_index=True) if tables else pd.DataFrame()


def of_one_seed(jobs: Any) -> pd.DataFrame:
    """Returns a job of each arm, all of the same seed: of the seeds that most arms have, the first."""
    single = jobs.drop_duplicates(["arm", "seed"])
    return single[single["seed"] == single.groupby("seed").size().idxmax()] if len(single) else single


def by_sentence(translations: Any) -> dict[tuple[str, ...], str]:
    """Returns the translations by task, source and reference, in their order."""
    keys = translations[SENTENCE].itertuples(index=False, name=None)
    return dict(zip(keys, translations["translation"], strict=True))


def in_common(arms: list[dict[tuple[str, ...], str]], count: int) -> list[tuple[str, ...]]:
    """Returns the first `count` sentences of each task that all arms have translated."""
    shared = [sentence for sentence in arms[0] if all(sentence in own for own in arms)] if arms else []
    tasks: dict[str, list[tuple[str, ...]]] = {}
    for sentence in shared:
        tasks.setdefault(sentence[0], []).append(sentence)
    return [sentence for own in tasks.values() for sentence in own[:count]]


def said_of(shown: Any, jobs: Any) -> str:
    """Returns the translations of `side_by_side` as Markdown, with the arms that have none of this seed."""
    parts = ["# Translations of the test part by each arm"]
    for data, own in shown.groupby("data", sort=False):
        absent = [str(arm) for arm in jobs[jobs["data"] == data]["arm"].unique() if arm not in set(own["arm"])]
        missing = f"; without translations of this seed: {', '.join(absent)}" if absent else ""
        parts += [f"## {escaped(str(data))}", f"Jobs of seed {own['seed'].iloc[0]}{missing}.", *by_task(own)]
    return "\n\n".join(parts) + "\n"


def by_task(shown: Any) -> list[str]:
    """Returns a heading for each task, and a table for each sentence: source, reference, and what each arm wrote."""
    parts = []
    for task, own in shown.groupby("task", sort=False):
        parts.append(f"### {escaped(str(task))}")
        for (source, reference), some in own.groupby(SENTENCE[1:], sort=False):
            names = ["*source*", "*reference*", *some["arm"]]
            texts = [escaped(str(text)) for text in (source, reference, *some["translation"])]
            parts.append(markdown_table(pd.DataFrame({"by": names, "text": texts})))
    return parts


def examples_of(shown: Any, jobs: Any) -> pd.DataFrame:
    """Returns the few rows that a page shows. They are of generated data alone, as other sentences may be under a
    licence: all jobs on the data say that their source is `GENERATED`, whatever the data are called.

    shown: as `side_by_side` gives it. jobs: those that it was made from, with the column data_source.
    """
    made = (jobs["data_source"] == GENERATED).groupby(jobs["data"]).all()
    own = shown[shown["data"].isin(made[made].index)] if len(shown) else shown
    if not len(own):
        return pd.DataFrame()
    task = own.groupby("data")["task"].transform(lambda names: pd.factorize(names)[0])
    sentence = own.groupby(["data", "task", "arm"]).cumcount()
    return own[(task < TASKS) & (sentence < OF_TASK)]


def examples_in_words(examples: Any) -> str:
    """Returns the translations that a page shows as Markdown; the text is empty where there are none."""
    parts = [f"## {HEAD}"] if len(examples) else []
    for data, own in examples.groupby("data", sort=False) if len(examples) else ():
        parts += [f"{escaped(str(data))}, seed {own['seed'].iloc[0]}", *by_task(own)]
    return "\n\n".join(parts)
