"""Layers of a transformer over the tokens that are there, with the feed-forward part handed in."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Protocol, cast

from torch import Tensor, nn

from models.sequence.attention import Attending, KeyValues, MultiHeadAttention
from models.sequence.ledger import Ledger
from models.sequence.packing import Places

Norm = Literal["pre", "post"]


class FeedForwardPart(Protocol):
    """Is what a layer calls after its attention, a module.

    tokens: (token, width), those that are there alone, so that padding is in no count and in no product. about: what is
    known about each of them, as the network hands it to its layers. ledger: takes what the part says about this pass.
    Returns (token, width).
    """

    def __call__(self, tokens: Tensor, about: Any, ledger: Ledger) -> Tensor: ...


class Setting(NamedTuple):
    """Holds what goes through a layer beside its tokens.

    places: of the tokens, None for one token of each sequence while decoding. about, ledger: for the feed-forward part.
    bias: of self-attention, see `MultiHeadAttention`. plan: of self-attention in its stead, for tokens end to end.
    """

    places: Places | None
    about: Any
    ledger: Ledger
    bias: Tensor | None = None
    plan: Attending | None = None


class Memory(NamedTuple):
    """Holds what a decoder layer attends to: keys and values, and the bias that says which of them may be."""

    keys: KeyValues
    bias: Tensor | None

    def pick(self, rows: Tensor) -> Memory:
        """Returns that of these sequences (row,)."""
        return Memory(self.keys.pick(rows), None if self.bias is None else self.bias.index_select(0, rows))


class FeedForward(nn.Module):
    """Is V relu(U x + a) + b for each token. hidden: numbers of a and of relu."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.enter, self.leave = nn.Linear(width, hidden), nn.Linear(hidden, width)
        for affine in (self.enter, self.leave):
            nn.init.xavier_uniform_(affine.weight)
            nn.init.zeros_(affine.bias)

    def forward(self, tokens: Tensor, about: Any = None, ledger: Ledger | None = None) -> Tensor:  # noqa: ARG002
        """Returns (token, width)."""
        return self.leave(self.enter(tokens).relu())


class Residual(nn.Module):
    """Is x + dropout(f(LN x)) with norm "pre" and LN(x + dropout(f(x))) with norm "post", for a part f of a layer."""

    def __init__(self, width: int, *, dropout: float, norm: Norm) -> None:
        super().__init__()
        if norm not in ("pre", "post"):
            raise ValueError(f"norm must be pre or post, got {norm!r}")
        self.norm, self.dropout, self.before = nn.LayerNorm(width), nn.Dropout(dropout), norm == "pre"

    def enter(self, tokens: Tensor) -> Tensor:
        """Returns what the part reads."""
        return self.norm(tokens) if self.before else tokens

    def leave(self, tokens: Tensor, found: Tensor) -> Tensor:
        """Returns the tokens with what the part found."""
        whole = tokens + self.dropout(found)
        return whole if self.before else self.norm(whole)


class EncoderLayer(nn.Module):
    """Is self-attention, then a feed-forward part, each with a residual and a layer norm."""

    def __init__(
        self, width: int, heads: int, feed_forward: nn.Module, *, dropout: float = 0.0, norm: Norm = "pre"
    ) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(width, heads)
        self.feed_forward = feed_forward
        self.attended, self.fed = (Residual(width, dropout=dropout, norm=norm) for _ in range(2))

    def forward(self, tokens: Tensor, setting: Setting) -> Tensor:
        """Returns (token, width). The bias of the setting must leave padding out: see `Places.bias`."""
        entering = self.attended.enter(tokens)
        if setting.plan is None:
            found = self.attention(entering, bias=setting.bias, places=setting.places)
        else:
            found = self.attention.planned(entering, setting.plan)
        return fed_forward(self, self.attended.leave(tokens, found), setting)


class DecoderLayer(nn.Module):
    """Is causal self-attention, attention to a memory, then a feed-forward part, each with a residual and a layer norm.

    memory: width of what is attended to, that of the layer if None.
    """

    def __init__(
        self,
        width: int,
        heads: int,
        feed_forward: nn.Module,
        *,
        dropout: float = 0.0,
        norm: Norm = "pre",
        memory: int | None = None,
    ) -> None:
        super().__init__()
        self.attention, self.cross = MultiHeadAttention(width, heads), MultiHeadAttention(width, heads, memory=memory)
        self.feed_forward = feed_forward
        self.attended, self.crossed, self.fed = (Residual(width, dropout=dropout, norm=norm) for _ in range(3))

    def forward(self, tokens: Tensor, setting: Setting, memory: Memory) -> Tensor:
        """Returns (token, width), where no token has seen a later one of its sequence; a bias of the setting is not
        asked for, as padding comes last."""
        found = self.attention(self.attended.enter(tokens), causal=True, places=setting.places)
        return self._after(self.attended.leave(tokens, found), setting, memory)

    def step(
        self, tokens: Tensor, setting: Setting, memory: Memory, past: KeyValues | None
    ) -> tuple[Tensor, KeyValues]:
        """Returns what the layer makes of the next token of each sequence, (sequence, width), with keys and values of
        all tokens up to it. past: those of the tokens before, None at the first."""
        entering = self.attended.enter(tokens).unsqueeze(1)
        own = self.attention.keys_of(entering)
        known = own if past is None else past.followed_by(own)
        found = self.attention(entering, known).squeeze(1)
        return self._after(self.attended.leave(tokens, found), setting, memory), known

    def _after(self, tokens: Tensor, setting: Setting, memory: Memory) -> Tensor:
        queries, single = self.crossed.enter(tokens), setting.places is None
        entering = queries.unsqueeze(1) if single else queries
        found = self.cross(entering, memory.keys, bias=memory.bias, places=setting.places)
        return fed_forward(self, self.crossed.leave(tokens, found.squeeze(1) if single else found), setting)


def fed_forward(layer: EncoderLayer | DecoderLayer, tokens: Tensor, setting: Setting) -> Tensor:
    """Returns the tokens (token, width) after the feed-forward part of a layer."""
    part = cast(FeedForwardPart, layer.feed_forward)
    return layer.fed.leave(tokens, part(layer.fed.enter(tokens), setting.about, setting.ledger))
