"""Translation between several languages by task-based mixtures of experts (thesis, section 3.3)."""
