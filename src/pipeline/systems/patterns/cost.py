"""What attention to long documents costs, beside attention to all tokens (thesis, 2.3.4.3)."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention
from tqdm import tqdm

from models.sequence.kept_bytes import Attention, saved_bytes
from models.sequence.orders import page_order, reading_order
from models.sequence.paired import DistanceKeysWindowValues, paired_plan
from models.sequence.patterns import Distance, DistanceWindow, Layout, SpatialWindow, keys_of
from models.sequence.plans import BLOCK, plan
from pipeline.compare.markdown import markdown_table
from pipeline.job.study import Study
from pipeline.systems.patterns.config import PatternsConfig, PatternsSettings
from pipeline.systems.patterns.figures import cost_figure
from pipeline.systems.patterns.inputs import AnyPattern, Collection, documents_of, patterns_of, strewn

DENSE = "all tokens, with a mask"
SPATIAL = (Distance, DistanceWindow, SpatialWindow, DistanceKeysWindowValues)
MEBIBYTE = 2**20


class TimedAttention(NamedTuple):
    """Holds an attention, by its name, and the seconds in which its plan was made."""

    name: str
    attention: Attention
    seconds: float


def planned(name: str, pattern: AnyPattern, layout: Layout, seed: int) -> TimedAttention:
    """Returns attention by a plan."""
    start = time.perf_counter()
    spatial = isinstance(pattern, SPATIAL)
    order = page_order(layout.centres, leaf=BLOCK) if spatial else reading_order(layout.count)
    generator = np.random.default_rng(seed)
    if isinstance(pattern, DistanceKeysWindowValues):
        made = paired_plan(pattern.pairs(layout, generator), order)
    else:
        made = plan(keys_of(pattern, layout, generator), order)
    return TimedAttention(name, made.attend, time.perf_counter() - start)


def dense(layout: Layout) -> TimedAttention:
    """Returns attention of all tokens to those within 64 of them, by a mask."""
    own = torch.arange(layout.count)
    allowed = ((own[:, None] - own).abs() <= BLOCK)[None, None]

    def attention(*parts: Tensor) -> Tensor:
        query, key, value = (part.transpose(0, 1)[None] for part in parts)
        return scaled_dot_product_attention(query, key, value, attn_mask=allowed)[0].transpose(0, 1)

    return TimedAttention(DENSE, attention, 0.0)


def parts_of(own: PatternsSettings, count: int) -> tuple[Tensor, ...]:
    """Returns queries, keys and values drawn at random, (token, head, width)."""
    draw = torch.Generator().manual_seed(0)
    return tuple(torch.randn(count, own.heads, own.width, generator=draw).requires_grad_() for _ in range(3))


def seconds_of(attention: Attention, parts: Sequence[Tensor]) -> float:
    """Returns the seconds of a pass forward and backward."""
    start = time.perf_counter()
    torch.autograd.grad(attention(*parts).sum(), parts)
    return time.perf_counter() - start


def costs_of(every: Sequence[TimedAttention], own: PatternsSettings, count: int) -> list[dict[str, object]]:
    """Returns a row a kind of attention; their passes take turns."""
    parts, times = parts_of(own, count), {made.name: list[float]() for made in every}
    for turn in range(own.repeats + 1):
        for made in every:
            seconds = seconds_of(made.attention, parts)
            times[made.name] += [seconds] if turn else []  # the first warms up
    return [
        {"attention": made.name, "tokens": count, "seconds": median(times[made.name]), "plan_seconds": made.seconds,
         "saved_bytes": saved_bytes(made.attention, parts)}
        for made in every
    ]  # fmt: skip


def ratios_of(costs: pd.DataFrame) -> pd.DataFrame:
    """Returns the costs with how many times the seconds and bytes of dense attention are theirs, where it was run."""
    peer = costs[costs["attention"] == DENSE].set_index("tokens")
    for name in ("seconds", "saved_bytes"):
        known = dict(zip(peer.index, peer[name], strict=True))
        costs[f"dense_{name}_ratio"] = [known.get(count, np.nan) for count in costs["tokens"]] / costs[name]
    return costs


def show_cost(settings: PatternsConfig, found: Collection, here: Study) -> None:
    """Logs seconds and bytes of each kind of attention by the number of tokens, with the figure."""
    own, rows = settings.patterns, list[dict[str, object]]()
    documents = [document for data in found.sets.values() for document in documents_of(data)]
    layouts = {count: strewn(documents, count) for count in sorted(own.tokens, reverse=True)}
    for count in tqdm(sorted(own.tokens), desc="cost", unit="length", leave=False, disable=None):
        layout = layouts[count]
        every = [planned(name, pattern, layout, settings.seed) for name, pattern in patterns_of(settings).items()]
        rows += costs_of([*every, *([dense(layout)] if count <= own.dense else [])], own, count)
    costs = ratios_of(pd.DataFrame(rows))
    here.run.table(costs, "cost/cost.csv")
    here.run.figure(cost_figure(costs, title=here.title), "cost/cost")
    for row in costs.to_dict("records"):
        name = str(row["attention"]).replace(",", "").replace(" ", "_")
        here.run.metric(f"cost/{name}/seconds", row["seconds"], int(row["tokens"]))
        here.run.metric(f"cost/{name}/saved_mebibytes", row["saved_bytes"] / MEBIBYTE, int(row["tokens"]))
    here.close(markdown_table(costs), f"{len(costs)} measurements")
