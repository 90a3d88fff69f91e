"""Chat: one grammar for bots and the terminal, one renderer, and a thin adapter for each platform."""
