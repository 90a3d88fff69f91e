"""The schema revisions that this version knows, without importing Alembic."""

HEAD_REVISION = "0002"
KNOWN_REVISIONS = ("0001", "0002")  # oldest first
