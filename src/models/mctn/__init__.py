"""Sentiment from one modality, learned by translating it into others (thesis, section 2.1)."""
