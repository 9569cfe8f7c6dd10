"""Real clusters: one description (`plan`), one way to bring it up (`embedded`), real Toxiproxy."""
