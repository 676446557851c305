"""Vectors of words: from wordllama's files by the mean of pieces, and from the training texts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from data.base import DataError
from data.multimodal import word_vectors
from data.multimodal.text import word_steps
from data.multimodal.word_vectors import factors, make_words, own_vectors, positive_information, pretrained, together

TEXTS = ["the cat sat", "The cat ran!", "a dog ran", "a dog sat"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of five pieces, as wordllama keeps its own."""
    save_file = pytest.importorskip("safetensors.numpy").save_file
    tokenizers = pytest.importorskip("tokenizers")
    for file in (word_vectors.TABLE, word_vectors.TOKENISER):
        (tmp_path / file).parent.mkdir()
    pieces = {"<unk>": 0, "▁cat": 1, "s": 2, "▁Dog": 3, "▁": 4, "▁run": 5}
    table = np.array([[9, 9], [1, 2], [3, 1], [5, 5], [7, 7], [0.1, 0]], dtype=np.float16)
    save_file({"embedding.weight": table}, tmp_path / word_vectors.TABLE)
    tokeniser = tokenizers.Tokenizer(tokenizers.models.Unigram([(piece, -1.0) for piece in pieces], unk_id=0))
    tokeniser.normalizer = tokenizers.normalizers.Prepend("▁")
    tokeniser.save(str(tmp_path / word_vectors.TOKENISER))
    return tmp_path


def test_a_word_has_the_mean_of_its_pieces(folder: Path) -> None:
    words = pretrained(["CATS cat"], folder, "made")
    assert words.words == ("cat", "cats", "run")  # Dog is no word in lower case
    expected = [[0, 0], [1, 2], [2, 1.5], [float(np.float16(0.1)), 0]]
    assert words.vectors.tolist() == expected
    assert words.vectors.dtype == torch.float32
    assert words.ids("Cats run home").tolist() == [2, 3, 0]


def test_a_table_that_lacks_is_named(folder: Path) -> None:
    (folder / word_vectors.TOKENISER).unlink()
    with pytest.raises(
        DataError, match=r"l2_supercat_tokenizer_config\.json: there is no such file; install the version"
    ):
        pretrained(["a"], folder, "made")


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(word_vectors, "wordllama_folder", lambda: None)
    with pytest.raises(DataError, match=r"^words=wordllama needs wordllama.*\[words\]"):
        make_words(TEXTS, TEXTS, choice="wordllama")
    with pytest.warns(UserWarning, match="word vectors are learned from the training texts alone"):
        assert make_words(TEXTS, TEXTS, choice="auto").source == "PPMI and SVD of the training texts"
    with pytest.raises(DataError, match=r"^words=glove is unknown; choose one of auto, wordllama, own"):
        make_words(TEXTS, TEXTS, choice="glove")


def test_pairs_are_counted_in_a_window_by_a_written_out_loop() -> None:
    texts = [list("abcabdaab"), list("ba"), ["a"], []]
    expected = np.zeros((3, 3))
    for text in texts:
        for i, one in enumerate(text):
            for other in text[i + 1 : i + 1 + word_vectors.WINDOW]:
                if one in "abc" and other in "abc":
                    expected["abc".index(one), "abc".index(other)] += 1
                    expected["abc".index(other), "abc".index(one)] += 1
    np.testing.assert_array_equal(together(texts, ["a", "b", "c"]), expected)


def test_information_is_that_of_its_formula() -> None:
    counts = np.array([[0.0, 3.0, 1.0], [3.0, 2.0, 0.0], [1.0, 0.0, 0.0]])
    total, alone = counts.sum(), counts.sum(0)
    found = positive_information(counts)
    assert found[0, 1] == pytest.approx(np.log(3 * total / (alone[0] * alone[1])))
    assert found[0, 2] == pytest.approx(np.log(1 * total / (alone[0] * alone[2])))
    assert found[1, 1] == found[1, 2] == found[2, 2] == 0.0


def test_factors_are_those_of_the_singular_values() -> None:
    matrix = np.random.default_rng(0).standard_normal((6, 6))
    matrix = matrix + matrix.T
    found = factors(matrix)
    singular = np.linalg.svd(matrix, compute_uv=False)
    np.testing.assert_allclose(np.square(found).sum(0), singular, rtol=1e-10)
    assert (found[np.abs(found).argmax(0), np.arange(6)] > 0).all()


def test_own_words_stand_twice_and_those_of_like_company_are_alike() -> None:
    texts = [f"{animal} {verb} the food" for animal in ("cat", "dog") for verb in ("eats", "likes")] * 3
    texts += ["car needs fuel", "lorry needs fuel"] * 3 + ["once"]
    words = own_vectors(texts)
    assert "once" not in words.words
    assert torch.equal(words.vectors, words.vectors.half().float())
    cat, dog, car = (words.vectors[words.rows[word]] for word in ("cat", "dog", "car"))
    near, far = (torch.cosine_similarity(cat, other, dim=0) for other in (dog, car))
    assert float(near) > float(far) + 0.3
    with pytest.raises(DataError, match="fewer than two words stand twice"):
        own_vectors(["one two", "three"])


def test_texts_without_a_known_word_are_counted() -> None:
    words = own_vectors(TEXTS)
    with pytest.warns(UserWarning, match=r"made: 2 of 3 texts have no known word \(PPMI"):
        steps = word_steps(["", "zebra", "the zebra"], words, name="made")
    assert [own.tolist() for own in steps] == [[], [[0.0]], [[float(words.rows["the"])], [0.0]]]


def test_the_installed_table_knows_english() -> None:
    if word_vectors.wordllama_folder() is None:
        pytest.skip("wordllama is not installed; pip install -c constraints.txt -e '.[words]' installs it")
    words = make_words(["unbelievablegood"], [], choice="wordllama")
    assert words.source.startswith("wordllama 0.4")
    assert words.vectors.shape[1] == 256
    assert len(words.words) > 5000
    good, great, table = (words.vectors[words.rows[word]] for word in ("good", "great", "table"))
    near, far = (torch.cosine_similarity(good, other, dim=0) for other in (great, table))
    assert float(near) > float(far) + 0.2
    assert words.ids("unbelievablegood")[0] > 0
