"""One module per experiment: its file name with dashes is its NAME."""
