"""Of an incident that brokers logged: who rebalanced, who was put out, why, what to look at."""
