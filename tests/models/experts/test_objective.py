"""The objective: its loss by hand, how pairs are drawn, what is measured, and pairs that are learned."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from experts_problems import (
    ARMS,
    TASKS,
    architecture,
    hidden_of,
    lists,
    network,
    pairs,
    taught,
    unevenly_shared,
)
from models.experts.network import TranslationNetwork
from models.experts.objective import (
    EncodedPairs,
    Sampling,
    TranslationObjective,
    encode_targets,
    measure,
    step_of,
)
from models.experts.search import Search, translate
from models.experts.tags import sources_of
from models.runtime.objective import descend
from models.sequence.ledger import Ledger
from models.sequence.vocabulary import Vocabulary
from rank_work import on_ranks

CPU = torch.device("cpu")


def chance(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def objective(model: TranslationNetwork, own: EncodedPairs | None = None, **changed: Any) -> TranslationObjective:
    sampling = Sampling(**{"tokens": 30, "updates": 5, **changed.pop("sampling", {})})
    return TranslationObjective(model, own or pairs(), sampling=sampling, **changed)


def test_a_batch_has_its_targets_behind_a_begin() -> None:
    own = pairs()
    step = step_of(own, torch.tensor([2, 0]), CPU)
    targets = [own.target.unpack()[row] for row in (2, 0)]
    assert step.targets.tolist() == [token for each in targets for token in each]
    assert step.before.ids.tolist() == [token for each in targets for token in (1, *each[:-1])]
    assert step.task.tolist() == [2, 0]


@pytest.mark.parametrize("arm", ["dense", "token", "token+dynamic"])
def test_the_loss_is_smoothed_cross_entropy_and_balance(arm: str) -> None:
    model, rows = network(arm), torch.tensor([0, 3, 1])
    step, ledger = step_of(pairs(), rows, CPU), Ledger()
    logits = hidden_of(model, step.source, step.before, step.task) @ model.embedding.T
    model.decode(model.encode(step.source, step.task, ledger), step.before, ledger)
    balance = sum(each.item() for each in ledger.named("balance").values())
    assert len(ledger.named("balance")) == {"dense": 0, "token": 4, "token+dynamic": 8}[arm]
    expected = nn.functional.cross_entropy(logits, step.targets, label_smoothing=0.2).item() + 0.03 * balance
    found = objective(model, balance=0.03, smoothing=0.2).loss(rows)
    assert found.mean.item() == pytest.approx(expected, rel=1e-10)
    assert found.weight == 4 + 2 + 3


@pytest.mark.parametrize("arm", ARMS)
def test_every_parameter_learns(arm: str) -> None:
    """Experts and adapters without a token have a gradient of zero, none has no gradient."""
    model = network(arm)
    objective(model).loss(torch.tensor([0, 1, 2, 3])).mean.backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    learning = [name for name, own in model.named_parameters() if own.grad is not None and own.grad.any()]
    unmoved = {name for name, _ in model.named_parameters()} - set(learning)
    assert all("key_value.bias" in name or ".router." in name for name in unmoved), unmoved


def test_tasks_are_drawn_by_temperature() -> None:
    counts, many = torch.tensor([400, 40, 160, 10]), 4096
    task = torch.repeat_interleave(torch.arange(TASKS), counts)[torch.randperm(610, generator=chance())]
    own = EncodedPairs(lists((3,) * 610, 0), lists((3,) * 610, 1), task)
    for temperature, shares in (
        (1.0, counts / 610),
        (2.0, counts.sqrt() / counts.sqrt().sum()),
        (1e9, torch.full((4,), 0.25)),
    ):
        made = objective(network("dense"), own, sampling={"temperature": temperature, "tokens": 300, "updates": 40})
        rows = torch.cat(list(made.batches(chance(1))))
        drawn = torch.bincount(task[rows], minlength=TASKS) / len(rows)
        assert 3850 < len(rows) <= 40 * 100
        assert float(((drawn - shares).abs() / (shares * (1 - shares) / many).sqrt()).max()) < 3


@pytest.mark.parametrize(("updates", "least"), [(60, 0.95), (10, 0.85)])
def test_a_pass_over_the_pairs_meets_nearly_all_of_them(updates: int, least: float) -> None:
    """Drawn with replacement they would be 63 %. An epoch of a sixth of a pass goes on where the last one ended."""
    lengths = tuple(torch.randint(2, 20, (6000,), generator=chance(2)).tolist())
    own = EncodedPairs(lists(lengths, 0), lists(lengths, 1), torch.arange(6000) % TASKS)
    made = objective(network("dense"), own, sampling={"tokens": 1100, "updates": updates})
    met = []
    for epoch in range(60 // updates):
        made.begins(epoch)
        met += list(made.batches(chance(epoch)))
    assert 5300 < len(torch.cat(met)) < 6200
    assert len(torch.cat(met).unique()) > least * 6000
    made.begins(0)
    again = list(made.batches(chance(0)))  # whatever was drawn since
    assert all(torch.equal(one, other) for one, other in zip(again, met, strict=False))


def test_orders_of_pairs_hang_on_the_seed_and_on_the_pass() -> None:
    own = EncodedPairs(lists((3,) * 12, 0), lists((3,) * 12, 1), torch.arange(12) % TASKS)
    orders = [objective(network("dense"), own, sampling={"seed": seed})._behind(1, 0, 300) for seed in (0, 1)]
    assert not torch.equal(*orders)
    passes = orders[0].view(100, 3)
    assert passes.sort(dim=1).values.eq(torch.tensor([1, 5, 9])).all()
    assert len(passes.unique(dim=0)) == 6


def test_batches_are_repeatable_and_hold_so_many_tokens() -> None:
    generator = chance(2)
    source, target = (tuple(torch.randint(2, 20, (50,), generator=generator).tolist()) for _ in range(2))
    own = EncodedPairs(lists(source, 0), lists(target, 1), torch.arange(50) % TASKS)
    made = objective(network("dense"), own, sampling={"tokens": 60, "updates": 700})
    first, second = (list(made.batches(chance(1))) for _ in range(2))
    assert len(first) == 700
    assert all(torch.equal(one, other) for one, other in zip(first, second, strict=True))
    assert all(int(own.lengths[rows].amax()) * len(rows) <= 60 for rows in first)


@pytest.mark.parametrize("arm", ["token+shared", "random"])
def test_what_is_measured_is_the_mean_over_tokens_of_each_task(arm: str) -> None:
    model, own = network(arm).train(), pairs((3, 6, 2, 5, 4, 3), (4, 3, 5, 2, 6, 2))
    found = measure(model, own, tokens=8)
    assert model.training
    model.eval()
    for task in range(TASKS):
        rows = (own.task == task).nonzero().squeeze(1)
        step = step_of(own, rows, CPU)
        logits = hidden_of(model, step.source, step.before, step.task) @ model.embedding.T
        assert found.nats[task] == pytest.approx(nn.functional.cross_entropy(logits, step.targets).item(), rel=1e-9)
    assert found.mean == pytest.approx(sum(found.nats.values()) / TASKS)
    assert int(found.counts["encoder.0"].sum()) == 2 * int(own.source.lengths.sum())
    assert (
        found.counts["decoder.1"].sum(1).tolist()
        == (2 * torch.bincount(own.task, own.target.lengths.double())).tolist()
    )
    narrow = measure(model, own, tokens=1000)
    assert narrow.nats == pytest.approx(found.nats)
    assert all(torch.equal(counts, found.counts[name]) for name, counts in narrow.counts.items())
    with pytest.raises(ValueError, match=r"there are no pairs to measure"):
        measure(model, own.take(torch.tensor([], dtype=torch.int64)))


def test_texts_become_pairs_with_tags_and_ends() -> None:
    texts = ["a small house", ""]
    made = Vocabulary.train(texts, pieces=256 + 4 + 1, tags=("<2de>",))
    source, target = sources_of(made, texts, [[made.tag("<2de>")]] * 2)[0], encode_targets(made, texts)
    pieces = [own.tolist() for own in made.encode(texts)]
    assert source.unpack() == [[4, *own, 2] for own in pieces]
    assert target.unpack() == [[*own, 2] for own in pieces]
    own = EncodedPairs(source, target, torch.tensor([0, 1]))
    assert own.within(5).task.tolist() == [1]
    assert own.within(99).count == 2


@pytest.mark.parametrize("arm", ["dense", "token+shared"])
def test_sixteen_pairs_are_learned(arm: str) -> None:
    """Rounding decides how many rounds that takes, so there is room for many more than the 2 to 9 of four seeds."""
    own = pairs((3, 4, 5, 6) * 4, (4, 3, 5, 4) * 4)
    model = TranslationNetwork(architecture(arm, width=32, hidden=48, layers=1), seed=0)
    made = objective(model, own, sampling={"tokens": 100, "updates": 70}, smoothing=0.0)
    optimizer, generator = torch.optim.Adam(model.parameters(), lr=3e-3, betas=(0.9, 0.98)), chance()
    losses, written = [], [list[list[int]]()] * 2
    for _ in range(30):
        losses += descend(made, optimizer, generator=generator)
        found = [translate(model, own.source, own.task, Search(first=6, beam=size)) for size in (1, 4)]
        written = [[[*each.tokens.tolist(), 2] for each in own_found if each.finished] for own_found in found]
        if all(each == own.target.unpack() for each in written):
            break
    assert losses[0].mean.item() > 2.5
    assert written == [own.target.unpack()] * 2


@pytest.mark.parametrize("arm", ["token+shared", "token+static", "task"])
def test_a_batch_of_one_task_teaches_its_own_parts_alone(arm: str) -> None:
    model, own = network(arm).train(), pairs((3, 4, 5, 6) * 2, (4, 3, 5, 4) * 2)
    objective(model, own).loss(torch.tensor([1, 5])).mean.backward()
    for name, part in model.named_parameters():
        by_task = "table" in name or (".experts." in name and ("_adapters." in name) == (arm == "token+static"))
        if (by_task and arm != "token+shared") or name == "table":
            assert part.grad is not None
            assert [bool(row.any()) for row in part.grad] == [False, True, False, False], name


def test_tiny_batches_work() -> None:
    """One sentence of one token: all that is there is its end."""
    own = pairs((2, 2, 2, 2), (1, 1, 1, 1))
    for arm in ("token+shared", "sentence", "random", "task"):
        found = objective(network(arm).train(), own).loss(torch.tensor([1]))
        assert bool(torch.isfinite(found.total))
        assert found.weight == 1


@pytest.mark.parametrize("world", [2, 5])
@pytest.mark.parametrize("arm", ["token", "sentence+dynamic", "hash+static"])
def test_processes_share_a_batch(arm: str, world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    model, rows = network(arm), torch.tensor([0, 1, 3])
    made = objective(model, balance=0.0)
    whole = made.loss(rows)
    monkeypatch.setattr("models.experts.objective.world", lambda: world)
    parts = []
    for rank in range(world):
        monkeypatch.setattr("models.experts.objective.rank", lambda rank=rank: rank)
        parts.append(made.loss(rows))
    assert sum(float(each.weight) for each in parts) == whole.weight
    slopes = [gradient_of(each.total, model) for each in parts]
    torch.testing.assert_close(sum(slopes), gradient_of(whole.total, model), rtol=1e-10, atol=1e-10)


def test_two_processes_that_balance_their_own_parts_learn_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their first loss is that of one process which takes both parts, one after the other."""
    first, second = on_ranks(taught, tmp_path, balance=0.5)
    assert first.keys() == second.keys()
    for name, found in first.items():
        assert bool(found.isfinite().all()), name
        assert torch.equal(found, second[name]), name
    made = unevenly_shared(network("token+dynamic").train(), balance=0.5)
    (rows, *_), parts = made.batches(chance(0)), []
    without = unevenly_shared(made.model, balance=0.0).loss(rows).mean.item()
    monkeypatch.setattr("models.experts.objective.world", lambda: 2)
    for rank in range(2):
        monkeypatch.setattr("models.experts.objective.rank", lambda rank=rank: rank)
        parts.append(made.loss(rows))
    expected = sum(each.total.item() for each in parts) / sum(float(each.weight) for each in parts)
    assert parts[0].weight != parts[1].weight
    assert float(first["loss"]) == pytest.approx(expected, rel=1e-10)
    assert expected > without + 0.5 * 8 * 0.9  # each of the eight gates has a balance of about 1


def gradient_of(total: torch.Tensor, model: TranslationNetwork) -> torch.Tensor:
    """Of all parameters, end to end."""
    found = torch.autograd.grad(total, list(model.parameters()), allow_unused=True, materialize_grads=True)
    return torch.cat([each.flatten() for each in found])


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        (
            {"sampling": {"temperature": 0.5}},
            r"temperature and updates must be at least 1 and balance at least 0, got 0.5, 5",
        ),
        ({"sampling": {"tokens": 5}}, r"a pair has 6 tokens, and a batch may have 5; drop longer pairs"),
        ({"balance": -1.0}, r"balance at least 0, got 1.0, 5 and -1.0"),
        ({"own": pairs((3, 3), (3, 3))}, r"task 2 has no pairs; give some, or leave it out"),
    ],
)
def test_objectives_that_cannot_be_are_refused(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        objective(network("token"), **changed)
