"""Real clusters: one description (`plan`), three backends that bring it up, real Toxiproxy."""
