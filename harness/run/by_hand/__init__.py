"""A cluster to play with by hand: `up`, `fault` and `down`.

It is brought up, broken and healed by what runs use. Its clients are its user's own programs.
"""
