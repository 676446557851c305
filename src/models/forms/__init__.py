"""Handwritten forms: find the boxes, put the words in reading order, read them."""
