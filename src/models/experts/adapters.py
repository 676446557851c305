"""Small networks behind a layer, for each task or chosen by it."""

from __future__ import annotations

from torch import Tensor, nn

from models.experts.mixture import StackedExperts, routed_by
from models.experts.routers import About
from models.sequence.ledger import Ledger


class Adapters(nn.Module):
    """Is h + w (D_i relu(C_i LN(h) + c_i) + d_i) behind the last residual of a layer, with adapter i and w by a router.

    Static adapters have a router by task, with w = 1; dynamic ones a gate for one, with w = q_i. D and d begin as 0, so
    a new adapter changes nothing. LN has no weights of its own: C_i and c_i hold them. The ledger gets what a mixture
    notes.
    """

    def __init__(self, router: nn.Module, experts: StackedExperts) -> None:
        super().__init__()
        self.router, self.experts = router, experts

    def forward(self, tokens: Tensor, about: About, ledger: Ledger) -> Tensor:
        """Returns (token, width). Raises ValueError for gates that are not finite."""
        routed = routed_by(self.router, tokens, about, ledger, self.experts.count)
        return tokens + self.experts(nn.functional.layer_norm(tokens, tokens.shape[-1:]), routed)
