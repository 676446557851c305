"""The rows of the tables, and nothing else."""

from __future__ import annotations

from itertools import permutations, product

import pytest

from models.mctn.arms import ARMS, plan_of

TABLE = """
cyclic-v-a cyclic-t-a cyclic-t-v simple-v-a simple-t-a simple-t-v bothways-v-a bothways-t-a bothways-t-v
double-v-a double-t-a double-t-v cyclic-v-a-t cyclic-t-a-v cyclic-t-v-a
simple-v-t-a simple-v-a-t simple-a-v-t simple-a-t-v simple-t-a-v simple-t-v-a double-t-v-a
concat-va-t concat-at-v concat-tv-a concat-a-tv concat-t-av concat-ta-tv concat-tv-ta paired-t-av
none-t none-v none-a none-tva shuffled-t-a shuffled-t-v
"""
WRITTEN = TABLE.split()
KINDS = ("cyclic", "simple", "bothways", "double", "concat", "paired", "none", "shuffled")


def test_all_rows_are_taken_and_nothing_else() -> None:
    assert sorted(ARMS) == sorted(WRITTEN)
    groups = ["".join(part) for size in (1, 2, 3) for part in permutations("tva", size)]
    for kind, size in product(KINDS, (1, 2, 3)):
        for rest in product(groups, repeat=size):
            arm = "-".join((kind, *rest))
            if arm in WRITTEN:
                assert plan_of(arm).arm == arm
            else:
                with pytest.raises(ValueError, match="is no row of"):
                    plan_of(arm)


@pytest.mark.parametrize(
    ("arm", "read", "letters", "targets", "back", "second"),
    [
        ("cyclic-t-a", "t", "ta", ("a",), "cycle", ""),
        ("simple-v-t-a", "v", "vta", ("t",), "", "a"),
        ("bothways-t-v", "t", "tv", ("v",), "bothways", ""),
        ("double-t-v-a", "tv", "tva", ("v",), "double", "a"),
        ("concat-ta-tv", "ta", "tav", ("tv",), "", ""),
        ("paired-t-av", "t", "tav", ("a", "v"), "", ""),
        ("none-tva", "tva", "tva", (), "", ""),
        ("shuffled-t-a", "t", "ta", ("a",), "cycle", ""),
    ],
)
def test_a_plan_says_what_is_read_and_learned_from(
    arm: str, read: str, letters: str, targets: tuple[str, ...], back: str, second: str
) -> None:
    plan = plan_of(arm)
    assert (plan.read, plan.letters, plan.targets, plan.back, plan.second) == (read, letters, targets, back, second)
    assert plan.shuffled == arm.startswith("shuffled")


@pytest.mark.parametrize("arm", ["", "cyclic", "triple-t-a", "cyclic_t_a", "CYCLIC-t-a"])
def test_an_unknown_arm_is_told_kinds_and_letters(arm: str) -> None:
    with pytest.raises(
        ValueError, match=r"arm .* (kind cyclic, simple, .*|is no row of cyclic).*t text, v video, a audio"
    ):
        plan_of(arm)


def test_an_arm_of_a_known_kind_is_told_its_rows() -> None:
    with pytest.raises(ValueError, match=r"'paired-t-va' is no row of paired: give paired-t-av \(t text,"):
        plan_of("paired-t-va")
