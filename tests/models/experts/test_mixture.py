"""Experts, gates and adapters against loops over tokens, and the balance loss by hand."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from experts_problems import about_of, filled, normal
from models.experts import mixture
from models.experts.adapters import Adapters
from models.experts.arms import Adapting, Mixing, parts_of
from models.experts.mixture import Mixture, StackedExperts, counts_of, grouped_pays, kept_within
from models.experts.routers import About, ByTask, Gate, Hash, Random, Routed
from models.experts.shares import shares_of
from models.sequence.layers import FeedForward
from models.sequence.ledger import Ledger

TOKENS, WIDTH, HIDDEN, COUNT = 12, 4, 8, 3
DTYPES = [(torch.float64, 1e-10), (torch.float32, 1e-5)]  # with the largest difference from an oracle
LENGTHS, TASK = [5, 3, 4], [1, 0, 3]


def experts(count: int = COUNT, **changed: Any) -> StackedExperts:
    return filled(StackedExperts(count, WIDTH, HIDDEN, **changed))


def gate(count: int = COUNT, top: int = 2, **changed: Any) -> Gate:
    return filled(Gate(WIDTH, count, top, **changed), 1.0)


def tokens() -> Tensor:
    return normal(TOKENS, WIDTH)


def about(table: Tensor | None = None) -> About:
    return about_of(TASK, LENGTHS, table)


def one_expert(own: StackedExperts, expert: int, x: Tensor) -> Tensor:
    return (x @ own.enter[expert] + own.enter_bias[expert]).relu() @ own.leave[expert] + own.leave_bias[expert]


def by_token(own: StackedExperts, x: Tensor, routed: Routed) -> Tensor:
    """A loop over tokens and their choices."""
    rows = []
    for token, choice, weight in zip(x, routed.choice.tolist(), routed.weight, strict=True):
        rows.append(sum(w * one_expert(own, expert, token) for expert, w in zip(choice, weight, strict=True)))
    return torch.stack(rows)


def dense_of(own: StackedExperts, expert: int = 0) -> FeedForward:
    made = FeedForward(WIDTH, HIDDEN).double()
    with torch.no_grad():
        made.enter.weight.copy_(own.enter[expert].T)
        made.enter.bias.copy_(own.enter_bias[expert])
        made.leave.weight.copy_(own.leave[expert].T)
        made.leave.bias.copy_(own.leave_bias[expert])
    return made


@pytest.mark.parametrize("product", ["sorted", "grouped"])
@pytest.mark.parametrize("top", [1, 2, 3])
def test_dispatch_is_a_loop_over_tokens_in_value_and_gradient(top: int, product: Any) -> None:
    if product == "grouped" and not hasattr(nn.functional, "grouped_mm"):
        pytest.skip("this torch has no grouped_mm")
    dtype = torch.float32 if product == "grouped" else torch.float64
    own, router, x = experts(product=product).to(dtype), gate(top=top).to(dtype), tokens().to(dtype).requires_grad_()
    results = []
    for form in (own, lambda x, routed: by_token(own, x, routed)):
        found = form(x, router(x, about()))
        slopes = torch.autograd.grad(found.square().sum(), [x, *own.parameters(), *router.parameters()])
        results.append((found, *slopes))
    limit = 1e-4 if product == "grouped" else 1e-10
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=limit, atol=limit)


def test_experts_without_a_token_have_a_gradient_of_zero() -> None:
    own, x = experts(), tokens()
    routed = Routed(torch.ones(TOKENS, 1, dtype=torch.int64), torch.ones(TOKENS, 1).double(), None)
    own(x, routed).sum().backward()
    for parameter in own.parameters():
        assert parameter.grad is not None
        assert [bool(parameter.grad[expert].any()) for expert in range(COUNT)] == [False, True, False]
    assert own(x[:0], Routed(routed.choice[:0], routed.weight[:0], None)).shape == (0, WIDTH)


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
def test_one_expert_is_a_dense_network(dtype: torch.dtype, limit: float) -> None:
    own, x = experts(1).to(dtype), tokens().to(dtype)
    found = Mixture(gate(1, 1).to(dtype), own)(x, about(), Ledger())
    torch.testing.assert_close(found, dense_of(own).to(dtype)(x), rtol=limit, atol=limit)


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
@pytest.mark.parametrize("top", [2, 3])
def test_equal_experts_are_a_dense_network(top: int, dtype: torch.dtype, limit: float) -> None:
    own, x = experts().to(dtype), tokens().to(dtype)
    with torch.no_grad():
        for parameter in own.parameters():
            parameter.copy_(parameter[:1].expand_as(parameter))
    found = Mixture(gate(top=top).to(dtype), own)(x, about(), Ledger())
    torch.testing.assert_close(found, dense_of(own).to(dtype)(x), rtol=limit, atol=limit)


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
def test_all_experts_met_are_the_written_out_mixture(dtype: torch.dtype, limit: float) -> None:
    own, router, x = experts().to(dtype), gate(top=COUNT).to(dtype), tokens().to(dtype)
    shares = (x @ router.weight.T).softmax(1)
    expected = sum(shares[:, [i]] * dense_of(own, i).to(dtype)(x) for i in range(COUNT))
    torch.testing.assert_close(Mixture(router, own)(x, about(), Ledger()), expected, rtol=limit, atol=limit)


def test_copied_experts_begin_alike_and_new_adapters_change_nothing() -> None:
    copied = StackedExperts(3, WIDTH, HIDDEN, start="copied")
    assert torch.equal(copied.enter[0], copied.enter[2])
    apart = StackedExperts(3, WIDTH, HIDDEN)
    assert not torch.equal(apart.enter[0], apart.enter[2])
    fresh = Adapters(ByTask(4), StackedExperts(4, WIDTH, HIDDEN, start="nothing").double())
    assert torch.equal(fresh(tokens(), about(), Ledger()), tokens())


def test_balance_is_one_when_even_and_the_count_when_collapsed() -> None:
    even = torch.full((9, COUNT), 1 / COUNT)
    choice = torch.arange(9).unsqueeze(1) % COUNT
    assert float(Routed(choice, even[:, :1], even).balance or 0) == pytest.approx(1)
    collapsed = nn.functional.one_hot(torch.zeros(9, dtype=torch.int64), COUNT).float()
    assert float(Routed(0 * choice, even[:, :1], collapsed).balance or 0) == COUNT
    gates = normal(9, COUNT).softmax(1)
    expected = COUNT * sum(float((gates.argmax(1) == i).double().mean() * gates[:, i].mean()) for i in range(COUNT))
    assert float(Routed(gates.argmax(1, keepdim=True), gates[:, :1], gates).balance or 0) == pytest.approx(expected)
    assert Routed(choice, even[:, :1], None).balance is None
    assert Routed(choice[:0], even[:0], even[:0]).balance is None


def test_the_gate_learns_through_its_weights_and_through_the_balance() -> None:
    for top in (1, 2):
        router, ledger = gate(top=top), Ledger()
        found = Mixture(router, experts())(tokens(), about(), ledger)
        for total in (found.square().sum(), ledger.entries["balance"]):
            (slope,) = torch.autograd.grad(total, router.weight, retain_graph=True)
            assert slope.abs().max() > 1e-4


def test_capacity_keeps_the_largest_weights_and_drops_the_rest() -> None:
    choice = torch.tensor([[0], [0], [1], [0], [0], [2]])
    weight = torch.tensor([[0.5], [0.9], [0.4], [0.9], [0.7], [0.6]])
    assert kept_within(Routed(choice, weight, None), 1.0, 3).squeeze(1).tolist() == [
        False,
        True,
        True,
        True,
        False,
        True,
    ]
    assert kept_within(Routed(choice, weight, None), 0.5, 3).squeeze(1).tolist() == [
        False,
        True,
        True,
        False,
        False,
        True,
    ]
    own, x, router = experts(), tokens(), gate()
    routed = router(x, about())
    assert torch.equal(own(x, routed, capacity=float(COUNT)), own(x, routed))
    kept = kept_within(routed, 0.5, COUNT)
    counts = torch.bincount(routed.choice.flatten(), minlength=COUNT)
    for expert in range(COUNT):
        most = math.ceil(0.5 * 2 * TOKENS / COUNT)
        assert int((kept & (routed.choice == expert)).sum()) == min(most, int(counts[expert]))
    expected = by_token(own, x, Routed(routed.choice, routed.weight * kept, None))
    torch.testing.assert_close(own(x, routed, capacity=0.5), expected, rtol=1e-10, atol=1e-10)
    dropped = ~kept_within(routed, 0.1, COUNT).any(1)
    assert bool(dropped.any())
    assert not own(x, routed, capacity=0.1)[dropped].any()  # the residual of the layer alone passes them on


def test_capacity_is_for_training_alone() -> None:
    limited, free = Mixture(gate(), experts(), capacity=0.5), Mixture(gate(), experts())
    trained, left = (each.train()(tokens(), about(), Ledger()) for each in (limited, free))
    assert not torch.equal(trained, left)
    assert torch.equal(limited.eval()(tokens(), about(), Ledger()), left)


def test_a_sentence_router_gives_a_sentence_the_same_experts() -> None:
    router, known = gate(whole=True), about()
    routed = router(tokens(), known)
    for own in routed.choice.split(LENGTHS):
        assert bool((own == own[0]).all())
    means = torch.stack([own.mean(0) for own in tokens().split(LENGTHS)])
    torch.testing.assert_close(routed.gates[::5][:1], (means @ router.weight.T).softmax(1)[:1])
    given = router(normal(TOKENS, WIDTH, seed=3), known._replace(summary=means))
    assert torch.equal(given.choice, routed.choice)
    with pytest.raises(ValueError, match=r"a sentence router needs a source: the tokens of whole sentences"):
        router(tokens(), known._replace(places=None))


def test_hash_and_random_routers_draw_different_even_experts() -> None:
    count, many = 8, 4000
    ids, steps = torch.arange(many) % 1000, torch.arange(many) // 1000
    known = about()._replace(ids=ids, steps=steps)
    x = torch.zeros(many, WIDTH)
    for router in (Hash(count, 2, salt=3), Random(count, 2, salt=3), Random(count, 2, salt=3).eval()):
        routed = router(x, known)
        assert bool((routed.choice[:, 0] != routed.choice[:, 1]).all())
        assert routed.gates is None
        assert float(routed.weight.unique()) == 0.5
        shares = torch.bincount(routed.choice.flatten(), minlength=count) / (2 * many)
        assert float((shares - 1 / count).abs().max()) < 0.03  # of 1000 numbers four standard errors are 0.03
    hashed = Hash(count, 2, salt=3)(x, known).choice
    assert torch.equal(hashed[:1000], hashed[1000:2000])
    assert not torch.equal(Hash(count, 2, salt=4)(x, known).choice, hashed)
    random = Random(count, 2, salt=3)
    torch.manual_seed(0)
    assert not torch.equal(random(x, known).choice, random(x, known).choice)
    still = random.eval()(x, known).choice
    assert torch.equal(still, random(x, known).choice)
    assert not torch.equal(still[:1000], still[1000:2000])  # other places, other experts


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
def test_static_adapters_are_those_of_the_task(dtype: torch.dtype, limit: float) -> None:
    own, x = experts(4).to(dtype), tokens().to(dtype)
    found = Adapters(ByTask(4), own)(x, about(), Ledger())
    normed = nn.functional.layer_norm(x, (WIDTH,))
    expected = torch.cat(
        [
            part + one_expert(own, task, each)
            for task, part, each in zip(TASK, x.split(LENGTHS), normed.split(LENGTHS), strict=True)
        ]
    )
    torch.testing.assert_close(found, expected, rtol=limit, atol=limit)


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
def test_dynamic_adapters_with_a_gate_that_is_sure_of_the_task_are_static(dtype: torch.dtype, limit: float) -> None:
    own, router, x = experts(4).to(dtype), gate(4, 1, table=4).to(dtype), tokens().to(dtype)
    with torch.no_grad():
        router.weight.zero_()
        assert router.by_task is not None
        router.by_task.copy_(1e3 * torch.eye(4))
    dynamic = Adapters(router, own)(x, about(torch.eye(4, dtype=dtype)), Ledger())
    torch.testing.assert_close(dynamic, Adapters(ByTask(4), own)(x, about(), Ledger()), rtol=limit, atol=limit)


@pytest.mark.parametrize(("dtype", "limit"), DTYPES)
def test_dynamic_adapters_are_a_loop_over_tokens(dtype: torch.dtype, limit: float) -> None:
    """h + q_i (A_i(h) − h) with the largest q_i of softmax(W [h; e]), the thesis's 3.63 and 3.64."""
    own, router, table = experts(3).to(dtype), gate(3, 1, table=5).to(dtype), normal(4, 5, seed=8).to(dtype)
    x, task = tokens().to(dtype), about().token_task
    assert router.by_task is not None
    found, weight = Adapters(router, own)(x, about(table), Ledger()), torch.cat([router.weight, router.by_task], 1)
    for token, row, e in zip(x, found, table[task], strict=True):
        shares = (weight @ torch.cat([token, e])).softmax(0)
        chosen = int(shares.argmax())
        change = one_expert(own, chosen, nn.functional.layer_norm(token, (WIDTH,)))
        torch.testing.assert_close(row, token + shares[chosen] * change, rtol=limit, atol=limit)


def test_a_gate_reads_token_and_task_end_to_end() -> None:
    """softmax(W [x; e]) with the two parts of W side by side; without its second part the task is not read."""
    router, table = gate(table=5), normal(4, 5, seed=8)
    assert router.by_task is not None
    joined = torch.cat([tokens(), table[about().token_task]], 1)
    expected = (joined @ torch.cat([router.weight, router.by_task], 1).T).softmax(1)
    torch.testing.assert_close(router(tokens(), about(table)).gates, expected, rtol=1e-10, atol=1e-10)
    plain = gate()
    with torch.no_grad():
        plain.weight.copy_(router.weight)
        router.by_task.zero_()
    torch.testing.assert_close(router(tokens(), about(table)).gates, plain(tokens(), about()).gates, rtol=0, atol=0)
    with pytest.raises(ValueError, match=r"a gate that reads the task needs the embeddings of tasks"):
        router(tokens(), about())


def test_gates_that_are_not_finite_are_named() -> None:
    broken = tokens()
    broken[3] = torch.nan
    with pytest.raises(ValueError, match=r"the gates of decoder.1 are not finite; lower the learning rate"):
        Mixture(gate(), experts())(broken, about(), Ledger().under("decoder.1"))


def test_counts_and_shares() -> None:
    counts = counts_of(torch.tensor([0, 0, 1, 1]), torch.tensor([[0, 1], [0, 2], [2, 1], [2, 1]]), 3, 4)
    assert counts.tolist() == [[2, 1, 1, 0], [0, 2, 2, 0], [0, 0, 0, 0]]
    shares = shares_of(counts)
    assert shares.largest == pytest.approx(3 / 8)
    assert shares.starved == 1
    own = [2 / 8, 3 / 8, 3 / 8]
    assert shares.entropy == pytest.approx(-sum(p * math.log(p) for p in own) / math.log(4))
    assert shares_of(torch.eye(3)).information == pytest.approx(math.log(3))
    assert shares_of(torch.ones(2, 5)) == pytest.approx((1.0, 0.2, 0, 0.0), abs=1e-12)
    with pytest.raises(ValueError, match=r"no token was counted, so experts have no shares"):
        shares_of(torch.zeros(2, 2))


def test_the_gpu_kernel_is_not_taken_on_a_cpu() -> None:
    assert not grouped_pays(torch.zeros(3, 8, dtype=torch.bfloat16), torch.zeros(2, 8, 8))


@pytest.mark.parametrize(
    ("dtype", "hidden", "capability", "taken"),
    [
        (torch.bfloat16, 16, (9, 0), True),
        (torch.bfloat16, 16, (10, 0), True),
        (torch.bfloat16, 16, (8, 9), False),
        (torch.bfloat16, 12, (9, 0), False),
        (torch.float32, 16, (9, 0), False),
    ],
)
def test_the_gpu_kernel_is_taken_where_there_is_one(
    dtype: torch.dtype, hidden: int, capability: tuple[int, int], taken: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows: Any = SimpleNamespace(is_cuda=True, dtype=dtype, device="cuda")
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda _: capability)
    monkeypatch.setattr(nn.functional, "grouped_mm", None, raising=False)
    assert grouped_pays(rows, torch.zeros(2, 8, hidden)) == taken
    monkeypatch.delattr(nn.functional, "grouped_mm")
    assert not grouped_pays(rows, torch.zeros(2, 8, hidden))


@pytest.mark.parametrize(("dtype", "limit"), [(torch.float32, 1e-5), (torch.bfloat16, 0.05)])
@pytest.mark.parametrize(("top", "capacity"), [(1, None), (2, None), (2, 0.5)])
def test_the_gpu_kernel_finds_what_sorted_products_find(
    top: int, capacity: float | None, dtype: torch.dtype, limit: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and gradients, as "auto" takes it where it pays; one expert meets no token."""
    if not hasattr(nn.functional, "grouped_mm"):
        pytest.skip("this torch has no grouped_mm")
    own, x = filled(StackedExperts(4, 8, 16)).to(dtype), normal(TOKENS, 8).to(dtype).requires_grad_()
    choice = torch.stack([torch.arange(TOKENS) % 3, (torch.arange(TOKENS) + 1) % 3], 1)[:, :top]
    weight = normal(TOKENS, top, seed=1).sigmoid().to(dtype).requires_grad_()
    results, kernels = [], list[str]()
    for kernel in ("one_by_one", "in_one_kernel"):
        monkeypatch.setattr(mixture, "grouped_pays", lambda *_, kernel=kernel: kernel == "in_one_kernel")
        monkeypatch.setattr(own, kernel, noted(kernels, kernel, getattr(own, kernel)))
        found = own(x, Routed(choice, weight, None), capacity=capacity)
        slopes = torch.autograd.grad(found.square().sum(), [x, weight, *own.parameters()])
        results.append((found, *slopes))
        assert not slopes[2][3].any()
    assert kernels == ["one_by_one", "in_one_kernel"]
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=limit, atol=limit * float(one.detach().abs().max()))


@pytest.mark.gpu
@pytest.mark.skipif(
    not torch.cuda.is_available() or torch.cuda.get_device_capability() < (9, 0),
    reason="no GPU of compute capability 9.0: the grouped kernel cannot be taken",
)
@pytest.mark.parametrize("top", [1, 2])
def test_a_gpu_takes_the_grouped_kernel_and_finds_what_sorted_products_find(
    top: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Values and gradients under autocast to bfloat16, with widths that are multiples of 8; one expert meets no
    token."""
    own, calls = filled(StackedExperts(4, 16, 32), 0.2).float().cuda(), list[str]()
    x = normal(TOKENS, 16).float().cuda().requires_grad_()
    weight = normal(TOKENS, top, seed=1).sigmoid().float().cuda().requires_grad_()
    choice = torch.stack([torch.arange(TOKENS) % 3, (torch.arange(TOKENS) + 1) % 3], 1)[:, :top].cuda()
    for kernel in ("one_by_one", "in_one_kernel"):
        monkeypatch.setattr(own, kernel, noted(calls, kernel, getattr(own, kernel)))
    results = []
    for product in ("auto", "sorted"):
        own.product = product
        with torch.autocast("cuda", torch.bfloat16):
            found = own(x, Routed(choice, weight, None))
        slopes = torch.autograd.grad(found.float().square().sum(), [x, weight, *own.parameters()])
        assert not slopes[2][3].any()
        results.append((found, *slopes))
    assert calls == ["in_one_kernel", "one_by_one"]
    for one, other in zip(*results, strict=True):
        torch.testing.assert_close(one, other, rtol=0.05, atol=0.05 * float(other.detach().abs().max()))


def noted(calls: list[str], name: str, function: Any) -> Any:
    """The function, which notes its calls by name."""
    return lambda *given: calls.append(name) or function(*given)


@pytest.mark.parametrize(
    ("kind", "given", "said"),
    [
        (Mixing, {"router": "all"}, r"router must be one of dense, dense_wide, .*, got 'all'"),
        (Mixing, {"start": "late"}, r"start must be one of independent, copied, got 'late'"),
        (Mixing, {"top": 9}, r"top must be 1 to count, got 9 of 8 experts"),
        (Mixing, {"every": 0}, r"every must be at least 1, got 0"),
        (Mixing, {"capacity": 0.0}, r"capacity must be above 0, with several experts; got 0.0 of 8"),
        (
            Mixing,
            {"capacity": 1.0, "count": 1, "top": 1},
            r"capacity must be above 0, with several experts; got 1.0 of 1",
        ),
        (Adapting, {"kind": "late"}, r"adapter must be one of none, static, dynamic, shared, got 'late'"),
        (Adapting, {"kind": "static", "hidden": 0}, r"hidden numbers of an adapter must be at least 1, got 0"),
    ],
)
def test_arms_that_cannot_be_are_refused(kind: Any, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        kind(**given)


def test_arms_by_name() -> None:
    assert parts_of("token+shared") == ("token", "shared")
    assert parts_of("dense") == ("dense", "none")
    with pytest.raises(ValueError, match=r"adapter shared needs a router with a gate, token or sentence, got hash"):
        parts_of("hash+shared")
    assert [Adapting("dynamic").adapters(tasks) for tasks in (18, 16, 4)] == [4, 4, 2]
    for tasks, count in ((2, None), (4, 5), (4, 1)):
        with pytest.raises(
            ValueError, match=r"adapter dynamic needs at least 3 tasks and 2 to that many adapters, got"
        ):
            Adapting("dynamic", count=count).adapters(tasks)
    mixing = Mixing("token", every=2)
    assert [mixing.mixture_at(layer) for layer in range(4)] == [False, True, False, True]
    assert [Mixing(router).hidden(10) for router in ("dense", "dense_wide", "dense_total", "token")] == [10, 20, 80, 10]
