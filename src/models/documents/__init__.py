"""Long documents: attention over what is near on the page (thesis, section 2.3)."""
