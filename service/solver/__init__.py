"""The solver: one pure function from a request and a market to a plan."""
