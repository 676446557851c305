"""What a network has to beat: a few numbers a sample and ridge regression on them."""

from models.mctn.baselines.models import NAMES, Baseline, baseline, reads
from models.mctn.baselines.samples import OWN_WORDS, Observed

__all__ = ["NAMES", "OWN_WORDS", "Baseline", "Observed", "baseline", "reads"]
