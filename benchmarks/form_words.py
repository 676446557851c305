"""Words of forms: training steps of CRNN beside plain layers and batches as they come, a beam beside one in Python, and
a whole form from a table with its file in base64 to its words, as the served model reads it, beside the time that it
may take.

python benchmarks/form_words.py --threads 1
"""

from __future__ import annotations

import io
import math
from base64 import b64encode
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from side_by_side import Form, Machine, Row, compare, run
from torch import Tensor, nn
from torch.nn.functional import pad

from models.forms.detect.boxes import WORD, Detections, Truth
from models.forms.detect.detector import Detector
from models.forms.detect.r_fcn import RFCN
from models.forms.images import Crops, crops_of
from models.forms.reader import LEAST_SCORE, FormReader
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.attending import END, AttentionRecogniser
from models.forms.recognise.crnn import CRNN, CRNNNetwork
from models.forms.recognise.ctc_seq2seq import CTCSeq2Seq
from models.forms.recognise.language import Language
from models.forms.saved import save_reader
from pipeline.systems.forms.served import ServedForms

WORDS, BATCH, HEIGHT = 96, 16, 32
WIDTHS = (32, 256)  # of the words, in pixels
PIXELS = 16  # a character
READ, BEAM = 16, 4  # words that are read with a beam, and its hypotheses
UNITS, LAYERS = 96, 4
PAGE, ON_PAGE, LIMIT = (480, 640), 20, 1.0  # of a form: pixels, words, and seconds that it may take on one core
SURE, BLANKS = 80.0, 0.85  # times the weights of a network that was not trained; share of frames that say blank
ALPHABET = Alphabet(tuple("abcdefghijklmnopqrstuvwxyzäöüß"))

Words = tuple[list[Tensor], list[str]]


class Plain(nn.Module):
    """CRNN's layers as torch.nn has them; what pads an image is looked at like the image."""

    def __init__(self, ours: CRNNNetwork) -> None:
        super().__init__()
        layers = list[nn.Module]()
        for place, (convolution, norm) in enumerate(zip(ours.maps.convolutions, ours.maps.norms, strict=True)):
            assert isinstance(convolution, nn.Conv2d)  # noqa: S101
            inputs, outputs = convolution.in_channels, convolution.out_channels
            own = nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.GroupNorm(outputs // 16, outputs)
            own[0].load_state_dict(convolution.state_dict())
            own[1].load_state_dict(norm.state_dict())
            layers += [*own, nn.ReLU(), nn.MaxPool2d((2, 1 if place else 2))]
        self.maps = nn.Sequential(*layers)
        ahead, back = ours.lstm.forwards[0], ours.lstm.backwards[0]
        assert isinstance(ahead, nn.LSTM)  # noqa: S101
        self.lstm = nn.LSTM(ahead.input_size, ahead.hidden_size, batch_first=True, bidirectional=True)
        reverse = {f"{name}_reverse": value for name, value in back.state_dict().items()}
        self.lstm.load_state_dict({**ahead.state_dict(), **reverse})
        self.say = nn.Linear(ours.say.in_features, ours.say.out_features)
        self.say.load_state_dict(ours.say.state_dict())
        self.ctc = nn.CTCLoss(reduction="none")

    def forward(self, ink: Tensor) -> Tensor:
        columns = self.maps(ink).flatten(1, 2).transpose(1, 2)
        return self.say(torch.cat([self.lstm(columns)[0], columns], 2)).log_softmax(2)

    def loss(self, ink: Tensor, texts: list[str]) -> Tensor:
        symbols, log_p = ALPHABET.encode(texts), self(ink)
        lengths = torch.tensor([len(own) for own in symbols])
        flat = torch.tensor([symbol for own in symbols for symbol in own], device=ink.device)
        frames = torch.full((len(ink),), log_p.shape[1])
        return (self.ctc(log_p.transpose(0, 1), flat, frames, lengths) / lengths.to(ink.device)).mean()


def some_words(count: int) -> Words:
    """Returns words of random ink, text and width."""
    chance = torch.Generator().manual_seed(0)
    widths = torch.randint(WIDTHS[0], WIDTHS[1] + 1, (count,), generator=chance).tolist()
    images = [torch.rand(HEIGHT, width, generator=chance) for width in widths]
    letters = [torch.randint(1, 1 + len(ALPHABET), (max(1, width // PIXELS),), generator=chance) for width in widths]
    return images, [ALPHABET.decode(own.tolist()) for own in letters]


def batches(words: Words, device: torch.device, *, alike: bool, width: int = 8) -> list[tuple[Crops, list[str]]]:
    """Returns the words in batches, of similar width or as they come, padded to the widest or to so many pixels."""
    images, texts = words
    order = sorted(range(len(texts)), key=lambda place: images[place].shape[1]) if alike else list(range(len(texts)))
    found = list[tuple[Crops, list[str]]]()
    for first in range(0, len(order), BATCH):
        own = order[first : first + BATCH]
        wide = [pad(images[place], (0, max(0, width - images[place].shape[1]))) for place in own]
        crops = crops_of(wide, HEIGHT).to(device)
        found.append((crops, [texts[place] for place in own]))
    return found


def check(ours: CRNNNetwork, plain: Plain, device: torch.device) -> None:
    """Both give the same loss where nothing is padded."""
    ink, texts = torch.rand(2, 1, HEIGHT, WIDTHS[1], device=device), ["abc", "aab"]
    crops = Crops(ink, torch.full((2,), WIDTHS[1], device=device))
    torch.testing.assert_close(ours.losses(crops, texts)["ctc_loss"], plain.loss(ink, texts), rtol=1e-3, atol=1e-4)


def training_rows(machine: Machine, budget: float) -> list[Row]:
    ours = CRNN(height=HEIGHT).network(ALPHABET).to(machine.device)
    plain = Plain(ours).to(machine.device)
    check(ours, plain, machine.device)
    words = some_words(WORDS)
    alike, come, padded = (
        batches(words, machine.device, alike=True),
        batches(words, machine.device, alike=False),
        batches(words, machine.device, alike=True, width=WIDTHS[1]),
    )

    def steps(own: list[tuple[Crops, list[str]]]) -> None:
        for crops, texts in own:
            ours.losses(crops, texts)["ctc_loss"].backward()

    def plain_steps() -> None:
        for crops, texts in padded:
            plain.loss(crops.ink, texts).backward()

    forms: dict[str, Form] = {
        "ours, batches of similar width": lambda: steps(alike),
        "batches as they come": lambda: steps(come),
        "the same layers of torch.nn, padded": plain_steps,
    }
    size = f"{WORDS} words, {WIDTHS[0]} to {WIDTHS[1]} px, batch {BATCH}"
    return compare("training steps of CRNN", size, forms, machine=machine, budget=budget)


@torch.no_grad()
def beam_by_loop(network: AttentionRecogniser, crops: Crops) -> list[str]:
    """Returns what a beam reads, image by image and hypothesis by hypothesis."""
    return [ALPHABET.decode(one_by_loop(network, crops.at([row]))) for row in range(len(crops.widths))]


def one_by_loop(network: AttentionRecogniser, crops: Crops) -> list[int]:
    """Returns the best of the hypotheses of one image, by log p over (5 + n) / 6; the beam loses a place to each that
    ends."""
    memory = network.remember(crops)
    longest, begin = int(network.longest(memory)[0]), network.embedding.num_embeddings - 1
    alive, ended = [(0.0, list[int](), begin, network.start(memory))], list[tuple[float, list[int]]]()
    while alive and len(ended) < network.settings.beam:
        longer = []
        for log_p, tokens, last, state in alive:
            scores, after = network.step(state, torch.tensor([last], device=crops.ink.device))
            longer += [(log_p + own, [*tokens, token], token, after) for token, own in enumerate(scores[0].tolist())]
        longer.sort(key=lambda own: -own[0])
        chosen = longer[: network.settings.beam - len(ended)]
        leaves = [own[2] == END or len(own[1]) >= longest for own in chosen]
        ended += [(own[0] / ((5 + len(own[1])) / 6), own[1]) for own, left in zip(chosen, leaves, strict=True) if left]
        alive = [own for own, left in zip(chosen, leaves, strict=True) if not left]
        bound = max((own[0] for own in alive), default=-math.inf) / ((5 + longest) / 6)
        if ended and max(own[0] for own in ended) >= bound:
            break
    best = max(ended, key=lambda own: own[0])[1]
    return best[:-1] if best[-1] == END else best


def beam_rows(machine: Machine, budget: float) -> list[Row]:
    settings = CTCSeq2Seq(height=HEIGHT, units=UNITS, encoder_layers=LAYERS, decoder_layers=LAYERS, beam=BEAM)
    network = settings.network(ALPHABET).eval().to(machine.device)
    crops = crops_of(some_words(READ)[0], HEIGHT).to(machine.device)
    forms: dict[str, Form] = {
        "ours": torch.no_grad()(lambda: network.read(crops)),
        "one hypothesis at a time": lambda: beam_by_loop(network, crops),
    }
    assert [own.text for own in network.read(crops)] == beam_by_loop(network, crops)  # noqa: S101
    size = f"{READ} words, beam of {BEAM}"
    return compare("reading by CTC-Seq2Seq", size, forms, machine=machine, budget=budget)


@torch.no_grad()
def make_sure(network: CRNNNetwork, crops: Crops) -> None:
    """Gives a network that was not trained the frames that CTC teaches: one symbol is nearly certain, mostly blank."""
    network.say.weight.mul_(SURE)
    log_p, _ = network(crops)
    network.say.bias[0] += (log_p[..., 1:].amax(2) - log_p[..., 0]).quantile(BLANKS)


class Answering(Detector):
    """Looks for boxes as another detector does, which was not trained, and answers with words that are known."""

    def __init__(self, own: Detector, words: Detections) -> None:
        super().__init__()
        self.own, self.words = own, words

    def losses(self, images: Tensor, truths: Sequence[Truth]) -> dict[str, Tensor]:
        return self.own.losses(images, truths)

    def detect(self, images: Tensor, least_score: float = LEAST_SCORE) -> list[Detections]:
        self.own.detect(images, least_score)
        return [self.words for _ in images]


def words_on_page() -> Detections:
    """Returns as many words as are asked for, spread over a form."""
    corners = torch.tensor([[place % 4 * PAGE[1] / 4, place // 4 * PAGE[0] / 5] for place in range(ON_PAGE)])
    boxes = torch.cat([corners, corners + torch.tensor([PAGE[1] / 4, PAGE[0] / 15])], 1)
    return Detections(boxes, torch.full((ON_PAGE,), WORD), torch.ones(ON_PAGE))


def served_reader(device: torch.device) -> ServedForms:
    """Returns the model that MLflow serves, with a reader that was saved and loaded. Its detector was not trained: it
    looks for boxes, and those of `words_on_page` are read. The recogniser is made as sure of its symbols as a trained
    one is."""
    images, texts = some_words(WORDS)
    recogniser = CRNN(height=HEIGHT, language=Language(texts=tuple(texts))).network(ALPHABET).eval()
    make_sure(recogniser, crops_of(images, HEIGHT))
    detector = RFCN(anchors=((168.0, 33.0), (100.0, 30.0), (60.0, 60.0))).network()
    model = ServedForms()
    with TemporaryDirectory() as folder:
        save_reader(FormReader(detector, recogniser), Path(folder) / "pages")
        model.load_context(SimpleNamespace(artifacts={"parameters": folder}))
    reader: Any = model.kind.reader
    reader.detector = Answering(reader.detector, words_on_page()).eval().to(device)
    reader.recogniser.to(device)
    return model


def page_rows(machine: Machine, budget: float) -> list[Row]:
    """What the served model's `predict` does with a form, a PNG file in base64 in a table. The server itself is not
    timed."""
    model, file = served_reader(machine.device), io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 256, PAGE, np.uint8)).save(file, "PNG")
    table = pd.DataFrame({"form": ["a"], "image": [b64encode(file.getvalue()).decode()]})

    def read() -> None:
        assert len(model.predict(None, table)) == ON_PAGE  # noqa: S101

    size = f"{PAGE[0]} x {PAGE[1]} px, {ON_PAGE} words"
    (ours,) = compare("reading a form", size, {"ours": read}, machine=machine, budget=budget)
    limit = Row(spot=ours.spot, size=size, form="the limit on one core", seconds=LIMIT, ratio=LIMIT / ours.seconds)
    return [ours, limit]


def measure(machine: Machine, budget: float) -> list[Row]:
    return [*training_rows(machine, budget), *beam_rows(machine, budget), *page_rows(machine, budget)]


if __name__ == "__main__":
    run("words of forms", measure)
