"""Alembic migrations, run by service/store/schema.py."""
