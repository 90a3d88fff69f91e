"""The schema revisions that this version knows, without importing Alembic."""

HEAD_REVISION = "0004"
KNOWN_REVISIONS = ("0001", "0002", "0003", "0004")  # oldest first
