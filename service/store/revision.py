"""The schema revisions that this version knows, without importing Alembic."""

HEAD_REVISION = "0005"
KNOWN_REVISIONS = ("0001", "0002", "0003", "0004", "0005")  # oldest first
