"""Watches and their deliveries."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Makes both tables."""
    op.create_table(
        "watches",
        sa.Column("watch_id", sa.String(), primary_key=True),
        sa.Column("owner", sa.String(), nullable=False),
        sa.Column("kind", sa.String(), nullable=False),
        sa.Column("condition", _JSON, nullable=False),
        sa.Column("target", _JSON, nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("checked_at", _TIME, nullable=True),
    )
    op.create_index("ix_watches_owner", "watches", ["owner", "created_at"])
    op.create_table(
        "watch_deliveries",
        sa.Column("delivery_id", sa.String(), primary_key=True),
        sa.Column("watch_id", sa.String(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("event", _JSON, nullable=False),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("attempts", sa.Integer(), nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("next_attempt_at", _TIME, nullable=True),
        sa.Column("delivered_at", _TIME, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
    )
    op.create_index("ix_watch_deliveries_watch", "watch_deliveries", ["watch_id", "created_at"])
    op.create_index("ix_watch_deliveries_due", "watch_deliveries", ["status", "next_attempt_at"])


def downgrade() -> None:
    """Drops both tables."""
    op.drop_table("watch_deliveries")
    op.drop_table("watches")
