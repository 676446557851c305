"""Handwritten words and forms: published ones, one's own, and generated ones."""
