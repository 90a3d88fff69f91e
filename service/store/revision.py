"""The schema revisions that this version knows, without importing Alembic."""

HEAD_REVISION = "0001"
KNOWN_REVISIONS = ("0001",)  # oldest first
