"""The service: estimates, solver, storage and the doors to them."""
