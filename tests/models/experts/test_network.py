"""The translator's network: no leak, no neighbours, decoding as at once, and tasks that are added."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

import pytest
import torch
from torch import Tensor, nn

from experts_problems import ARMS, TASKS, VOCABULARY, architecture, filled, hidden_of, lists, network, normal, pairs
from models.experts import growth
from models.experts.arms import Adapting, Mixing
from models.experts.growth import begin_as_nearest, begin_tags, grown, parameters_to_adapt
from models.experts.mixture import Mixture
from models.experts.network import Architecture, Sentences, TranslationNetwork, size_of
from models.experts.objective import EncodedPairs, Measured, measure, step_of
from models.experts.routers import About, Routed
from models.experts.search import Search, translate
from models.experts.tags import tag_names
from models.sequence.ledger import Ledger
from models.sequence.tokens import TokenLists
from models.sequence.vocabulary import Vocabulary

CPU = torch.device("cpu")


def logits(model: TranslationNetwork, own: EncodedPairs, rows: list[int]) -> list[Tensor]:
    """Of each pair, (token, vocabulary), made together."""
    step = step_of(own, torch.tensor(rows), CPU)
    found = hidden_of(model, step.source, step.before, step.task) @ model.embedding.T
    return list(found.split(step.before.places.lengths.tolist()))


def same_alone_and_together(model: TranslationNetwork) -> bool:
    own = pairs()
    together = logits(model, own, [0, 1, 2, 3])
    return all(torch.allclose(logits(model, own, [row])[0], together[row], rtol=1e-9, atol=1e-9) for row in range(4))


def sees_the_future(model: TranslationNetwork) -> bool:
    """Whether logits before a token of the target change with it."""
    own = pairs()
    step = step_of(own, torch.arange(4), CPU)
    changed = step.before.ids.clone()
    changed[2] = (changed[2] + 1) % VOCABULARY  # the third token of the first sentence, of four
    first, second = (
        hidden_of(model, step.source, Sentences(ids, step.before.places), step.task)
        for ids in (step.before.ids, changed)
    )
    assert not torch.allclose(first[2:4], second[2:4])
    return not (torch.allclose(first[:2], second[:2], rtol=1e-9) and torch.allclose(first[4:], second[4:], rtol=1e-9))


@pytest.mark.parametrize("arm", ARMS)
def test_no_arm_sees_the_future_or_its_neighbours(arm: str) -> None:
    model = network(arm)
    assert not sees_the_future(model)
    assert same_alone_and_together(model)


class ReadsTheFuture(nn.Module):
    """Is a router that weighs a token by the mean over its whole sentence, those behind it too."""

    def forward(self, tokens: Tensor, about: About) -> Routed:
        if about.places is not None:
            tokens = about.places.means(tokens)[about.sentence]
        weight = tokens[:, :1].sigmoid()
        return Routed(torch.zeros(len(tokens), 1, dtype=torch.int64), weight, None)


class ReadsThePadding(nn.Module):
    """Is a router that weighs a token by how many steps the batch is padded to."""

    def forward(self, tokens: Tensor, about: About) -> Routed:
        assert about.places is not None
        weight = tokens.new_full((len(tokens), 1), 1 / about.places.steps)
        return Routed(torch.zeros(len(tokens), 1, dtype=torch.int64), weight, None)


def with_router(router: nn.Module) -> TranslationNetwork:
    model = network("token")
    for part in model.modules():
        if isinstance(part, Mixture):
            part.router = router
    return model


def test_routers_that_read_the_future_or_the_padding_are_found_out() -> None:
    assert sees_the_future(with_router(ReadsTheFuture()))
    assert not same_alone_and_together(with_router(ReadsThePadding()))


@pytest.mark.parametrize("arm", ARMS)
def test_writing_token_by_token_is_the_network_at_once(arm: str) -> None:
    model, own = network(arm), pairs(target=(4, 4, 4, 4))
    step = step_of(own, torch.arange(4), CPU)
    memory = model.encode(step.source, step.task, Ledger())
    expected = (model.decode(memory, step.before, Ledger()) @ model.embedding.T).log_softmax(1).view(4, 4, -1)
    state = model.start(memory)
    for place in range(4):
        log_p, state = model.step(state, step.before.ids.view(4, 4)[:, place])
        torch.testing.assert_close(log_p, expected[:, place], rtol=1e-9, atol=1e-9)
    rows = torch.tensor([3, 1, 1])
    last = torch.tensor([7, 8, 9, 10])
    whole, part = model.step(state, last)[0], model.step(model.pick(state, rows), last[rows])[0]
    torch.testing.assert_close(part, whole[rows], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("arm", ["dense", "token+shared", "sentence+dynamic", "random", "hash+static"])
@pytest.mark.parametrize("size", [1, 3])
def test_translations_do_not_depend_on_neighbours(arm: str, size: int) -> None:
    model = filled(TranslationNetwork(architecture(arm), seed=0), 0.25)
    source, task = lists((3, 6, 2, 5, 4), 3), torch.tensor([0, 1, 2, 3, 0])
    how = Search(first=6, beam=size, beyond=4)
    together = translate(model, source, task, how)
    for row, found in enumerate(together):
        (alone,) = translate(model, source.take(torch.tensor([row])), task[[row]], how)
        assert alone.tokens.tolist() == found.tokens.tolist()
        assert alone.log_p == pytest.approx(found.log_p, rel=1e-9)
        assert all(token >= 6 for token in found.tokens.tolist())
    narrow = translate(model, source, task, how._replace(tokens=6))
    assert [each.tokens.tolist() for each in narrow] == [each.tokens.tolist() for each in together]
    assert translate(model, TokenLists.of([]), task[:0], how) == []


@pytest.mark.parametrize("size", [1, 4])
def test_hypotheses_count_as_tokens_of_a_batch(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them has log p of all pieces in a step, so a wide beam takes fewer sentences at once."""
    model, met = filled(TranslationNetwork(architecture("token+static"), seed=0), 0.25), list[int]()
    source, task, how = lists((3,) * 12, 3), torch.arange(12) % TASKS, Search(first=6, beam=size, beyond=4)
    at_once, step = translate(model, source, task, how), model.step
    monkeypatch.setattr(model, "step", lambda state, last: met.append(len(last)) or step(state, last))
    found = translate(model, source, task, how._replace(tokens=24))
    assert max(met) == 8
    assert [each.tokens.tolist() for each in found] == [each.tokens.tolist() for each in at_once]
    assert [each.log_p for each in found] == pytest.approx([each.log_p for each in at_once], rel=1e-9)


def test_cached_search_is_search_that_reads_all_again() -> None:
    model, own = filled(TranslationNetwork(architecture("token+dynamic"), seed=0), 0.25).eval(), pairs()
    task, how = own.task, Search(first=6, beyond=2)
    for row, found in enumerate(translate(model, own.source, task, how)):
        ids, places = own.source.pick(torch.tensor([row]))
        memory, written = model.encode(Sentences(ids, places), task[[row]], Ledger()), [1]
        while written[-1] != 2 and len(written) <= 2 * len(ids) + 2:
            target = Sentences(*TokenLists.of([written]).pick(torch.tensor([0])))
            scores = model.decode(memory, target, Ledger())[-1] @ model.embedding.T
            scores[[0, 1, 3, 4, 5]] = -torch.inf
            written.append(int(scores.argmax()))
        assert [token for token in written[1:] if token != 2] == found.tokens.tolist()
        assert found.finished == (written[-1] == 2)


def gates_met(model: TranslationNetwork) -> list[Tensor]:
    """A list that grows by the gates (token, expert) of each mixture which the network passes."""
    met = list[Tensor]()
    for part in model.modules():
        if isinstance(part, Mixture):
            part.router.register_forward_hook(lambda _, __, routed: met.append(routed.gates))
    return met


def test_balance_and_counts_are_those_of_present_tokens() -> None:
    """Two sentences together: shares are those of all their tokens, however long the longer one is. Alone a sentence
    has no padding, so the balance of both follows from the gates of each."""
    model, own = network("token"), pairs()
    ledgers, met = [Ledger() for _ in range(3)], gates_met(model)
    for ledger, rows in zip(ledgers, ([0, 1], [0], [1]), strict=True):
        step = step_of(own, torch.tensor(rows), CPU)
        model.decode(model.encode(step.source, step.task, ledger), step.before, ledger)
    together, *alone = (ledger.named("counts") for ledger in ledgers)
    assert list(together) == ["encoder.0", "encoder.1", "decoder.0", "decoder.1"]
    for name, counts in together.items():
        assert torch.equal(counts, alone[0][name] + alone[1][name])
        assert int(counts.sum()) == 2 * (9 if name.startswith("encoder") else 7)
    balance = ledgers[0].named("balance")
    assert list(balance) == list(together)
    for found, *apart in zip(balance.values(), met[4:8], met[8:12], strict=True):
        gates = torch.cat(apart)
        first = nn.functional.one_hot(gates.argmax(1), 4).double().mean(0)
        torch.testing.assert_close(found, 4 * first @ gates.mean(0), rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("arm", ["token+static", "token+dynamic", "dense+static"])
def test_adapters_that_are_nothing_give_the_network_without_them(arm: str) -> None:
    own, other = (TranslationNetwork(architecture(each), seed=3).eval() for each in (arm, arm.split("+")[0]))
    for one, expected in zip(logits(own, pairs(), [0, 1, 2]), logits(other, pairs(), [0, 1, 2]), strict=True):
        assert torch.equal(one, expected)


def test_shared_without_its_columns_for_the_task_is_dynamic() -> None:
    shared, dynamic = (
        TranslationNetwork(architecture(arm), seed=3).eval() for arm in ("token+shared", "token+dynamic")
    )
    with torch.no_grad():
        for name, parameter in shared.named_parameters():
            if "feed_forward.router.by_task" in name:
                parameter.zero_()
            elif ".leave" in name:
                parameter.copy_(normal(*parameter.shape, seed=len(name)))
        dynamic.load_state_dict(
            {name: value for name, value in shared.state_dict().items() if name in dynamic.state_dict()}
        )
    for one, expected in zip(logits(shared, pairs(), [0, 1, 2]), logits(dynamic, pairs(), [0, 1, 2]), strict=True):
        torch.testing.assert_close(one, expected, rtol=0, atol=0)


@pytest.mark.parametrize("arm", ["token+static", "token+dynamic", "dense+static", "token+shared", "task", "token"])
def test_old_tasks_are_as_they_were_when_tasks_are_added(arm: str) -> None:
    model = network(arm)
    more = grown(model, 2, seed=1)
    assert more.architecture.tasks == TASKS + 2
    for one, other in zip(logits(more, pairs(), [0, 1, 2, 3]), logits(model, pairs(), [0, 1, 2, 3]), strict=True):
        assert torch.equal(one, other)
    if model.table is not None:
        assert more.table is not None
        torch.testing.assert_close(more.table[TASKS], model.table.mean(0))


def test_a_new_task_begins_as_the_old_one_that_fits_its_pairs_best() -> None:
    model = grown(network("token+dynamic"), 2, seed=1)
    table, own = cast(Tensor, model.table), pairs()
    before = table.detach().clone()
    new = EncodedPairs(own.source, own.target, torch.tensor([TASKS, TASKS, TASKS + 1, TASKS + 1]))
    nats = [[measure(model, replace(new.take(rows), task=torch.full((2,), task))).mean for task in range(TASKS)]
            for rows in (torch.tensor([0, 1]), torch.tensor([2, 3]))]  # fmt: skip
    expected = {TASKS + place: each.index(min(each)) for place, each in enumerate(nats)}
    assert begin_as_nearest(model, new, TASKS) == expected
    assert torch.equal(table[:TASKS], before[:TASKS])
    assert torch.equal(table[TASKS:], before[list(expected.values())])
    assert begin_as_nearest(grown(network("token"), 1, seed=1), new, TASKS) == {}


def test_a_new_task_is_measured_on_some_of_many_pairs_of_all_its_kinds(monkeypatch: pytest.MonkeyPatch) -> None:
    model, four, asked = grown(network("token+dynamic"), 1, seed=1), pairs(), list[EncodedPairs]()
    own = EncodedPairs(four.source, four.target, torch.full((4,), TASKS))
    monkeypatch.setattr(growth, "measure", lambda _, given: asked.append(given) or Measured({TASKS: 1.0}, {}))
    for count, measured in ((499, 499), (1200, 500)):
        many = own.take(torch.arange(4).repeat_interleave(-(-count // 4))[:count])
        begin_as_nearest(model, many, TASKS)
        assert [each.count for each in asked] == [measured] * TASKS
        kinds = [int((asked[0].source.lengths == length).sum()) for length in own.source.lengths.unique()]
        assert len(kinds) > 1
        assert min(kinds) >= measured // 4 - 1
        asked.clear()


@pytest.mark.parametrize("arm", ["token+static", "dense+static", "task+static"])
def test_new_static_adapters_begin_as_those_that_fit_their_pairs_best(arm: str) -> None:
    """They are those of an old task, or none where these fit better; experts are those of the new task in any case."""
    model, own = grown(network(arm), 1, seed=1), pairs()
    adapters = [part for name, part in model.named_parameters() if "_adapters." in name]
    before = [part.detach().clone() for part in adapters]
    new = EncodedPairs(own.source, own.target, torch.full((4,), TASKS))
    begun, nats = measure(model, new).mean, list[float]()
    old = logits(model, own, [0, 1, 2, 3])
    with torch.no_grad():
        for task in range(TASKS):
            for part, first in zip(adapters, before, strict=True):
                part[TASKS] = first[task]
            nats.append(measure(model, new).mean)
        for part, first in zip(adapters, before, strict=True):
            part.copy_(first)
    nearest = [*nats, begun].index(min(*nats, begun))
    assert begin_as_nearest(model, new, TASKS) == {TASKS: nearest}
    assert measure(model, new).mean == min(*nats, begun)
    assert all(torch.equal(part[TASKS], first[nearest]) for part, first in zip(adapters, before, strict=True))
    for one, other in zip(logits(model, own, [0, 1, 2, 3]), old, strict=True):
        assert torch.equal(one, other)


def test_new_static_adapters_stay_nothing_where_those_of_old_tasks_are_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    model, own, nats = grown(network("token+static"), 1, seed=1), pairs(), iter([3.0, 2.0, 4.0, 3.5, 1.0])
    monkeypatch.setattr(growth, "measure", lambda *_: Measured({TASKS: next(nats)}, {}))
    before = {name: value.clone() for name, value in model.state_dict().items()}
    new = EncodedPairs(own.source, own.target, torch.full((4,), TASKS))
    assert begin_as_nearest(model, new, TASKS) == {TASKS: TASKS}
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())


def test_a_new_tag_begins_as_the_mean_of_its_kind() -> None:
    model, known, new = network("token"), [("de", "en"), ("fr", "en"), ("en", "de")], [("et", "lv"), ("et", "en")]
    tags = tag_names([*known, *new])
    vocabulary = Vocabulary.train(["a"], pieces=260 + len(tags), tags=tags)
    before = model.embedding.detach().clone()
    begin_tags(model, vocabulary, known, new, "target")
    place = {name: vocabulary.tag(name) for name in tags}
    torch.testing.assert_close(model.embedding[place["2lv"]], before[[place["2en"], place["2de"]]].mean(0))
    changed = (model.embedding != before).any(1).nonzero().flatten().tolist()
    assert changed == [place["2lv"]]  # "et2" stands in front of no sentence
    begin_tags(model, vocabulary, known, new, "task")
    kind = [place["de2"], place["fr2"], place["en2"]]
    torch.testing.assert_close(model.embedding[place["et2"]], before[kind].mean(0))


@pytest.mark.parametrize(
    ("arm", "what"), [("token+static", "adapters"), ("token+shared", "tasks"), ("dense+dynamic", "tasks")]
)
def test_what_learns_a_new_task_leaves_old_ones_to_the_bit(arm: str, what: str) -> None:
    model = grown(network(arm), 1, seed=1)
    own, new = pairs(), pairs()
    before = logits(model, own, [0, 1, 2, 3])
    new = EncodedPairs(new.source, new.target, torch.full_like(new.task, TASKS))
    optimizer = torch.optim.Adam(parameters_to_adapt(model, what), lr=0.1)
    first = torch.cat(logits(model, new, [0, 1]))
    for _ in range(3):
        optimizer.zero_grad()
        torch.cat(logits(model, new, [0, 1])).square().sum().backward()
        optimizer.step()
    assert not torch.allclose(torch.cat(logits(model, new, [0, 1])), first)
    for one, other in zip(logits(model, own, [0, 1, 2, 3]), before, strict=True):
        assert torch.equal(one, other)


def test_what_adapts_is_named() -> None:
    assert len(parameters_to_adapt(network("token+shared"), "tasks+gates")) == 1 + 2 * 4 * 2
    with pytest.raises(ValueError, match=r"adapter none has no adapters to adapt; take all"):
        parameters_to_adapt(network("token"), "adapters")
    with pytest.raises(ValueError, match=r"adapter shared has no adapters to adapt; take tasks, tasks\+gates or all"):
        parameters_to_adapt(network("token+shared"), "adapters")
    with pytest.raises(ValueError, match=r"adapter static has no tasks\+gates to adapt; take all"):
        parameters_to_adapt(network("token+static"), "tasks+gates")
    with pytest.raises(ValueError, match=r"what adapts must be one of all, adapters, tasks, tasks\+gates, got 'none'"):
        parameters_to_adapt(network("token"), "none")


def test_arms_share_their_first_weights_and_sizes_are_counted() -> None:
    one, other = (TranslationNetwork(architecture(arm), seed=3) for arm in ("token+static", "dense"))
    assert torch.equal(one.embedding, other.embedding)
    for name, parameter in other.state_dict().items():
        if "attention" in name or "cross" in name:
            assert torch.equal(parameter, one.state_dict()[name])
    assert not torch.equal(one.embedding, TranslationNetwork(architecture("dense"), seed=4).embedding)
    dense, wide, token = (
        size_of(TranslationNetwork(architecture(arm), seed=0)) for arm in ("dense", "dense_wide", "token")
    )
    assert dense.total == dense.active
    expert = 2 * 8 * 6 + 6 + 8
    assert token.total == dense.total + 4 * (3 * expert + 4 * 8)
    assert token.active == token.total - 4 * 2 * expert
    assert wide.active == dense.active + 4 * (2 * 8 * 6 + 6)
    assert size_of(TranslationNetwork(architecture("task"), seed=0)).active == dense.total


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"heads": 3}, r"width must be even and a multiple of heads, got 8 and 3"),
        ({"width": 0}, r"width must be at least 1, got 0"),
        ({"mixing": Mixing("token", every=3)}, r"every must be at most layers, got 3 of 2: no layer"),
        ({"dropout": 1.0}, r"dropout must be at least 0 and below 1, got 1.0"),
        ({"tasks": 2, "adapting": Adapting("dynamic")}, r"adapter dynamic needs at least 3 tasks"),
        (
            {"adapting": Adapting("shared"), "mixing": Mixing("hash")},
            r"adapter shared needs router token or sentence, got hash",
        ),
    ],
)
def test_architectures_that_cannot_be_are_refused(changed: dict[str, Any], said: str) -> None:
    own: dict[str, Any] = {"vocabulary": 20, "tasks": 4, "width": 8, "heads": 2}
    with pytest.raises(ValueError, match=said):
        Architecture(**{**own, **changed})
