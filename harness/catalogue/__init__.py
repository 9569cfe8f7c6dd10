"""What can be played and judged: experiments, rules, and which runs a night is made of."""
