"""What stands beside the prices with its validity: acceptances, the policy table, measured use of pools."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")


def upgrade() -> None:
    """Makes the table."""
    op.create_table(
        "standing",
        sa.Column("kind", sa.String(), primary_key=True),
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("valid_from", _TIME, primary_key=True),
        sa.Column("valid_to", _TIME, nullable=True),
        sa.Column("content", _JSON, nullable=False),
    )


def downgrade() -> None:
    """Drops it."""
    op.drop_table("standing")
