"""What the parent of a multirun of `recipe=experts` says: its tables in Markdown."""

from __future__ import annotations

from typing import Any

import pandas as pd

from models.experts.scores import FEWEST
from pipeline.compare.markdown import markdown_table, missing
from pipeline.compare.statistics import FEWEST_FOR_INTERVAL
from pipeline.systems.experts.scores import NO_BLEU
from pipeline.systems.experts.thesis import NOTE

CAPTION = (
    "Test part: mean ± standard deviation over seeds. *nats*: −log p of a target token, mean over tasks, with its 95 % "
    "interval over seeds. *active*: parameters that a token meets. *ms*: of an update, on the machine of these jobs."
)
LATER = "Of jobs that learned tasks later, nats are the mean over these alone."
BY_TASK = (
    "BLEU, then chrF, ± standard deviation over seeds; in brackets the 95 % bootstrap interval over test sentences, "
    "mean over jobs. Below the arms: the source as it is (*copy*), the translation of the most similar training "
    "sentence (*nearest*), and word by word by a dictionary of training pairs (*words*)."
)
SHOTS = (
    "chrF of the new tasks, mean over them and over seeds, before and after they were learned. Before (*zero shot*): "
    "nothing is trained, but the embedding of a new task, or its static adapters, where the arm has these, are chosen "
    "by its training pairs. *pairs*: of a new task, the mean over them, which is less than was *asked* for where there "
    "are no more; *share of all*: of what the same network gains when all of its numbers learn, a ratio of means with "
    "its 95 % interval over seeds. It says nothing where the interval of that gain begins at 0 or below (*gain of all "
    "low*). *forgotten*: nats a token of the old tasks, after less before; *old equal*: whether they are the same to "
    "the last bit. The epoch that is kept has the least nats on all validation pairs of the new tasks. These can be "
    "many more than the pairs that are learned from, and are no part of *pairs*."
)
GOALS = (
    "Ratios of nats have the verdicts of the claims above, by p after Holm's adjustment and the interval. The other "
    "goals are decided by the intervals of this table, which are not adjusted, or by a number without one."
)
PRINTED = (
    "BLEU found here ± standard deviation over seeds / printed there; *mean*: of those found / of the printed ones, "
    "over the tasks of this table. It is not the average that the thesis prints where some of its tasks did not run"
)
CLAIMS = (
    "Nats a token of the first arm divided by those of the second, paired by task and seed: geometric mean of the "
    f"ratios, with its 95 % interval and Student's p after Holm's adjustment from {FEWEST_FOR_INTERVAL} seeds on. Both "
    "assume normal log ratios over seeds."
)
SHOWN = ["claim", "of", "tasks", "pairs", "ratio", "ratio_low", "ratio_high", "p_holm", "verdict"]
BLEU_SHOWN = ["against", "challenger", "translations", "sentences", "bleu_against", "bleu_challenger", "p_holm"]
BLEU_CAPTION = (
    "BLEU of the same pairs, over the translations of all seeds and tasks (paired bootstrap, Koehn 2004): how sure one "
    f"is of these networks on other sentences, not of other networks. Of fewer than {FEWEST} sentences there is no p."
)
TESTS = "An English sentence is drawn with its translations of all seeds and tasks."
OLD_TESTS = (
    "**These tests were made before a sentence was drawn with all of its seeds**: one that several seeds translate "
    "counts several times, which makes p too small unless each seed has sentences of its own. With 1000 draws p is at "
    "least 2/1001 before Holm's adjustment. They cannot be made again from the files of this page, and newer claims "
    "have none."
)


def page(tables: dict[str, pd.DataFrame]) -> str:
    """Returns the whole text of the tables of `multirun.summary_of`, by their names."""
    means, tasks, thesis, fewshot, paired, bleu, goals = (
        tables[name] for name in ("means", "tasks", "thesis", "fewshot", "paired", "bleu", "goals")
    )
    parts = [f"{CAPTION} {LATER}" if len(fewshot) else CAPTION]
    for data in means["data"].unique():
        parts += [f"## {data}", markdown_table(arm_cells(means[means["data"] == data]))]
        own: Any = tasks[tasks["data"] == data]
        parts += [f"{BY_TASK}\n\n{markdown_table(task_cells(own))}"]
        parts += [NO_BLEU] if (own["bleu"].isna() & own["chrf"].notna()).any() else []
        parts += printed(thesis[thesis["data"] == data]) if len(thesis) else []
    if len(fewshot):
        parts += ["## New tasks from few pairs", SHOTS, markdown_table(fewshot.drop(columns=["network", "stand_in"]))]
    parts += claims_in_words(paired, bleu)
    if len(goals):
        parts += ["## Goals", GOALS, markdown_table(goals)]
    return "\n\n".join(parts)


def claims_in_words(paired: Any, bleu: Any) -> list[str]:
    """Returns the claims of each data set, and the tests of BLEU."""
    if not len(paired):
        return []
    parts = ["## Claims", CLAIMS]
    for data, own in paired.groupby("data", sort=False):
        said = own.assign(
            claim=[f"{row['words']}: {row['challenger']} ahead of {row['against']}" for row in own.to_dict("records")]
        )
        parts.append(f"{data}\n\n{markdown_table(said.rename(columns={'whose': 'of'})[SHOWN])}")
    return [*parts, *bleu_in_words(bleu)] if len(bleu) else parts


def bleu_in_words(bleu: Any) -> list[str]:
    """Returns the tests of BLEU. Those that older versions made say themselves what is wrong with them."""
    drawn = OLD_TESTS if "draws" not in bleu else f"{TESTS} {int(bleu['draws'].iloc[0]):,} draws."
    shown = [name for name in ("data", *BLEU_SHOWN) if name in bleu]
    return [f"{BLEU_CAPTION} {drawn}", markdown_table(bleu[shown])]


def spread(mean: Any, deviation: Any, form: str) -> str:
    """Returns a mean with its deviation, where there is one."""
    if missing(mean):
        return ""
    return f"{mean:{form}}" + ("" if missing(deviation) else f" ± {deviation:{form}}")


def between(low: Any, high: Any, form: str) -> str:
    return "" if missing(low) or missing(high) else f"{low:{form}} to {high:{form}}"


def arm_cells(means: Any) -> pd.DataFrame:
    """Returns the arms of one data set as words."""
    rows = []
    for row in means.to_dict("records"):
        rows.append({
            "arm": row["arm"], "jobs": row["jobs"],
            "nats": spread(row["test_error"], row["test_error_sd"], ".4f"),
            "95 %": between(row["test_error_low"], row["test_error_high"], ".4f"),
            "BLEU xe": spread(row.get("bleu_xe"), None, ".1f"), "BLEU ex": spread(row.get("bleu_ex"), None, ".1f"),
            "parameters": row["parameters"], "active": row["parameters_active"],
            "ms": spread(row.get("ms_per_step"), None, ".0f"), "updates": spread(row.get("updates"), None, ".0f"),
            "entropy": spread(row["entropy"], None, ".3f"),
            "information": spread(row.get("adapter_information"), None, ".3f"),
        })  # fmt: skip
    return filled(pd.DataFrame(rows))


def filled(table: pd.DataFrame) -> pd.DataFrame:
    """Returns the columns that say something."""
    return table.drop(columns=[name for name in table if all(value == "" for value in table[name])])


def task_cells(tasks: Any) -> pd.DataFrame:
    """Returns a row per arm and a column per task, as words."""
    rows = []
    for arm, own in tasks.groupby("arm", sort=False):
        cells = {row["task"]: task_cell(row) for row in own.to_dict("records")}
        rows.append({"arm": arm, **cells})
    return pd.DataFrame(rows)


def task_cell(row: dict[str, Any]) -> str:
    """Returns BLEU and chrF of an arm and task, a dash where one is undefined."""
    found = []
    for score in ("bleu", "chrf"):
        inside = between(row[f"{score}_sentences_low"], row[f"{score}_sentences_high"], ".1f")
        found.append((spread(row[score], row[f"{score}_sd"], ".1f") or "–") + (f" ({inside})" if inside else ""))
    return ", ".join(found)


def printed(thesis: Any) -> list[str]:
    """Returns the tables of the thesis with what was found beside them."""
    parts = []
    for (number, title), own in thesis.groupby(["table", "title"], sort=False):
        tasks = [name.removeprefix("printed_") for name in own.columns if str(name).startswith("printed_")]
        tasks = [task for task in tasks if task != "mean" and own[f"printed_{task}"].notna().any()]
        rows = [
            {"model": row["model"], "arm": row["arm"], **{task: cell(row, task) for task in [*tasks, "mean"]}}
            for row in own.to_dict("records")
        ]
        heading = f"Table {number} of the thesis, {title}: {PRINTED}"
        parts.append(f"{heading}\n\n{markdown_table(pd.DataFrame(rows))}")
    return [*parts, NOTE] if parts else []


def cell(row: dict[str, Any], task: str) -> str:
    """Returns BLEU of one arm and task, found and printed."""
    found = spread(row.get(f"bleu_{task}"), row.get(f"bleu_sd_{task}"), ".1f")
    return f"{found or '–'} / {row[f'printed_{task}']:.1f}"
