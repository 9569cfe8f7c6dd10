"""Kept runs whose histories were changed: what each change is, and which rule has to notice it."""
