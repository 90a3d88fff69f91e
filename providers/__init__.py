"""The market: words, units and one adapter per provider. Knows nothing of the service."""
