"""Saved plans, reports, idempotency keys and exchange rates; jobs that another process may take over."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_TABLES = ("saved_plans", "plan_events", "plan_shares", "idempotency_keys", "reports", "report_files", "exchange_rates")


def upgrade() -> None:
    """Makes the tables and widens that of the jobs."""
    _plans()
    _reports()
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.String(), primary_key=True),
        sa.Column("key", sa.String(), primary_key=True),
        sa.Column("body_hash", sa.String(), nullable=False),
        sa.Column("status", sa.Integer(), nullable=False),
        sa.Column("headers", _JSON, nullable=True),
        sa.Column("body", sa.Text(), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.add_column("jobs", sa.Column("beat_at", _TIME, nullable=True))
    op.add_column("jobs", sa.Column("attempts", sa.Integer(), nullable=False, server_default="0"))


def _plans() -> None:
    op.create_table(
        "saved_plans",
        sa.Column("plan_id", sa.String(), primary_key=True),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("name", "owner")),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("state", sa.String(), nullable=False),
        sa.Column("approval", _JSON, nullable=True),
        sa.Column("reopened", sa.String(), nullable=True),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("request", "answer")),
        *(sa.Column(name, _JSON, nullable=False) for name in ("hashes", "market", "own", "told")),
        sa.Column("solver_version", sa.String(), nullable=False),
        sa.Column("evaluated_at", _TIME, nullable=False),
        sa.Column("as_of", _TIME, nullable=True),
        *(sa.Column(name, _TIME, nullable=False) for name in ("created_at", "changed_at")),
        sa.Column("refreshed_at", _TIME, nullable=True),
        sa.Column("drift_fraction", sa.Float(), nullable=True),
    )
    op.create_index("ix_saved_plans_created", "saved_plans", ["created_at", "plan_id"])
    op.create_index("ix_saved_plans_as_of", "saved_plans", ["as_of"])
    op.create_table(
        "plan_events",
        sa.Column("plan_id", sa.String(), primary_key=True),
        sa.Column("number", sa.Integer(), primary_key=True),
        sa.Column("at", _TIME, nullable=False),
        *(sa.Column(name, sa.String(), nullable=False) for name in ("event", "by")),
        sa.Column("detail", sa.Text(), nullable=False),
    )
    op.create_table(
        "plan_shares",
        sa.Column("share_id", sa.String(), primary_key=True),
        sa.Column("plan_id", sa.String(), nullable=False),
        sa.Column("token_hash", sa.String(), nullable=False, unique=True),
        *(sa.Column(name, _TIME, nullable=False) for name in ("created_at", "expires_at")),
        sa.Column("revoked_at", _TIME, nullable=True),
    )
    op.create_index("ix_plan_shares_plan", "plan_shares", ["plan_id", "created_at"])


def _reports() -> None:
    op.create_table(
        "reports",
        sa.Column("report_id", sa.String(), primary_key=True),
        sa.Column("job_id", sa.String(), nullable=False),
        *(sa.Column(name, sa.Text(), nullable=False) for name in ("title", "spec")),
        sa.Column("status", sa.String(), nullable=False),
        sa.Column("problem", _JSON, nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("finished_at", _TIME, nullable=True),
    )
    op.create_index("ix_reports_created", "reports", ["created_at", "report_id"])
    op.create_table(
        "report_files",
        sa.Column("report_id", sa.String(), primary_key=True),
        sa.Column("format", sa.String(), primary_key=True),
        sa.Column("content", sa.LargeBinary(), nullable=False),
    )
    op.create_table(
        "exchange_rates",
        sa.Column("currency", sa.String(), primary_key=True),
        sa.Column("day", sa.Date(), primary_key=True),
        sa.Column("per_euro", sa.Float(), nullable=False),
    )


def downgrade() -> None:
    """Drops all of it."""
    op.drop_column("jobs", "attempts")
    op.drop_column("jobs", "beat_at")
    for name in reversed(_TABLES):
        op.drop_table(name)
