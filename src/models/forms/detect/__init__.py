"""Detectors: a form in, boxes with a class and a score out."""
