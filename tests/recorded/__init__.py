"""Histories of real runs, by which every change is judged; `make recorded` renews them."""
