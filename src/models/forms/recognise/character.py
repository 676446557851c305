"""The character model: ResNet-18, a convolution over the whole height, and CTC (thesis, 2.2.3.3)."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from models.forms.images import Crops
from models.forms.recognise.alphabet import Alphabet
from models.forms.recognise.frames import FrameRecogniser, FrameSettings
from models.forms.recognise.resnet import ResNet18, refuse_odd_sizes
from models.forms.recognise.word import WordNetwork
from models.ranges import Count
from models.runtime.seeding import drawn


@dataclass(frozen=True, kw_only=True)
class Character(FrameSettings):
    """`recogniser=character`. height: that images are brought to, in pixels, even. width: channels of the first stage,
    8 or a multiple of 16; the last one has 8 times as many. start: the word model whose trunk training begins with, as
    whoever trains the network finds it and hands it to `CharacterNetwork.start`; None for none. language: as
    `FrameSettings` has it. Raises TypeError and ValueError for others."""

    height: Count = 32
    width: Count = 8
    start: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        refuse_odd_sizes(self.height, self.width)

    def network(self, alphabet: Alphabet, *, seed: int = 0) -> CharacterNetwork:
        """Returns the network, with first weights drawn by that seed."""
        with drawn(seed, "forms/character"):
            return CharacterNetwork(self, alphabet)


class CharacterNetwork(FrameRecogniser):
    """Gives each frame, two pixels wide, a probability for every symbol and for blank: ResNet-18's maps, and a
    convolution over their whole height, one column wide."""

    def __init__(self, settings: Character, alphabet: Alphabet) -> None:
        super().__init__(settings, alphabet)
        self.trunk = ResNet18(settings.width)
        self.say = nn.Conv2d(self.trunk.channels, len(alphabet) + 1, (settings.height // 2, 1))

    def start(self, word: WordNetwork) -> None:
        """Takes the trunk's weights from a word model. Raises ValueError for one of another height or width."""
        own, other = self.settings, word.settings
        if (own.height, own.width) != (other.height, other.width):
            raise ValueError(
                f"the character model has height={own.height} and width={own.width}, the word model that it starts "
                f"from height={other.height} and width={other.width}; give both the same"
            )
        self.trunk.load_state_dict(word.trunk.state_dict())

    def frames(self, widths: Tensor) -> Tensor:
        """Returns half the widths, rounded as the trunk does."""
        return self.trunk.frames(widths)

    def forward(self, crops: Crops) -> tuple[Tensor, Tensor]:
        """Returns ln p (image, frame, symbol), and how many frames each image has."""
        maps = self.trunk(crops.ink, crops.widths)
        return self.say(maps)[:, :, 0].transpose(1, 2).log_softmax(2), self.frames(crops.widths)
