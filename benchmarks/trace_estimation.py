"""Trace estimates of diag(1/i²), n = 5000, beside PyLops: seconds of an estimate of equal queries, so of a query too.

python benchmarks/trace_estimation.py --threads 1
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import torch
from side_by_side import Form, Machine, Row, compare, run

from models.trace.estimate import trace_estimates
from models.trace.estimators import independent_estimates
from models.trace.matrices import Matrix
from models.trace.oracles import Diagonal

SIZE, QUERIES = 5000, (30, 150)
SPLIT = {"c1": 0.25, "c2": 0.5}  # ours, and what the paper of Hutch++ suggests
PEERS: dict[str, tuple[str, dict[str, Any]]] = {
    "hutchinson": ("trace_hutchinson", {}),
    "hutch_pp": ("trace_hutchpp", {}),
    "na_hutch_pp": ("trace_nahutchpp", SPLIT),
}


def peer(method: str, values: torch.Tensor, queries: int) -> Form:
    import pylops

    operator = pylops.Diagonal(values.numpy())
    name, settings = PEERS[method]
    function = getattr(pylops.utils.estimators, name)
    return lambda: function(operator, neval=queries, sampler="gaussian", **settings)


def measure(machine: Machine, budget: float) -> list[Row]:
    """In float64; PyLops works on the CPU."""
    values = 1 / torch.arange(1, SIZE + 1, dtype=torch.float64, device=machine.device) ** 2
    generator, rows = torch.Generator(machine.device).manual_seed(0), []
    for method in (*PEERS, "xtrace"):
        for queries in QUERIES:

            def ours(method: str = method, queries: int = queries) -> torch.Tensor:
                return independent_estimates(
                    Diagonal(values), method=method, queries=queries, size=SIZE, generator=generator
                )

            forms: dict[str, Form] = {"ours": ours}
            if method in PEERS and find_spec("pylops") and machine.device.type == "cpu":
                forms["PyLops"] = peer(method, values, queries)
            rows += compare(f"trace, {method}", f"n={SIZE}, {queries} queries", forms, machine=machine, budget=budget)
    return rows + chosen(machine, budget, values)


def chosen(machine: Machine, budget: float, values: torch.Tensor) -> list[Row]:
    """The method that is chosen by what is measured, with its standard error."""
    matrix = Matrix(Diagonal(values), SIZE, values.dtype, values.device)
    rows: list[Row] = []
    for queries in QUERIES:

        def ours(queries: int = queries) -> object:
            return trace_estimates(matrix, method="auto", products=queries, tolerance=None, seed=0)

        what = f"n={SIZE}, {queries} queries"
        rows += compare("trace, estimate_trace", what, {"ours": ours}, machine=machine, budget=budget)
    return rows


if __name__ == "__main__":
    run(__doc__ or "", measure)
