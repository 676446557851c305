"""What models are told by a word, and the words they take; read by who checks settings before torch is there."""

from __future__ import annotations

SCALES = ("samples", "none")  # of a ridge: see `models.numerics.ridge.per_sample_ridge`
UPDATES = ("bayes", "sign", "whitened", "paper")  # of a PSRNN: see `models.psrnn.update`
TRACE_METHODS = ("hutchinson", "hutch_pp", "na_hutch_pp", "xtrace")  # the keys of `models.trace.estimators.METHODS`
DISTRIBUTIONS = ("gaussian", "rademacher")  # of random query vectors: see `models.trace.queries`
EDGES = ("found", "ink")  # of the boxes of words that are read: see `models.forms.placing`
