"""API keys, and the number that tells every process that they changed."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Makes the table and widens the version row."""
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.String(), primary_key=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("name", "scope", "digest")),
        sa.Column("created_at", _TIME, nullable=False),
        *(sa.Column(name, _TIME, nullable=True) for name in ("expires_at", "revoked_at", "last_used_at")),
    )
    op.add_column("market_version", sa.Column("access_version", sa.BigInteger(), nullable=False, server_default="0"))


def downgrade() -> None:
    """Drops both."""
    with op.batch_alter_table("market_version") as table:
        table.drop_column("access_version")
    op.drop_table("api_keys")
