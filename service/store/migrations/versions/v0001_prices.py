"""Prices with their history, feed states, leases, jobs, pools and packed feeds."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
_JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
_TABLES = (
    "current_prices", "price_history", "feed_states", "feed_sightings", "market_version", "market_changes", "packed_feeds",
    "price_medians", "leases", "jobs", "on_prem_pools",
)  # fmt: skip


def upgrade() -> None:
    """Makes every table and the one version row."""
    _prices()
    _feeds()
    _market()
    _work()
    op.execute("INSERT INTO market_version (id, version, status_version) VALUES (1, 0, 0)")


def downgrade() -> None:
    """Drops every table."""
    for name in reversed(_TABLES):
        op.drop_table(name)


def _columns(*names_and_types: tuple[str, Any, bool]) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=nullable) for name, kind, nullable in names_and_types]


def _price_columns() -> list[sa.Column[Any]]:
    text = [(name, sa.String(), False) for name in ("provider", "gpu", "capacity_type", "tenancy", "scope", "content_hash")]
    return _columns(
        *text,
        ("gpu_count", sa.Float(), False),
        ("country", sa.String(), True),
        ("region", sa.String(), True),
        ("micro_usd_per_hour", sa.BigInteger(), False),
        ("payload", sa.Text(), False),
    )


def _prices() -> None:
    op.create_table(
        "current_prices",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("offer_id", sa.String(), primary_key=True),
        *_price_columns(),
        sa.Column("valid_from", _TIME, nullable=False),
        sa.CheckConstraint("micro_usd_per_hour >= 0", name="ck_current_prices_not_negative"),
    )
    op.create_table(
        "price_history",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("offer_id", sa.String(), primary_key=True),
        sa.Column("valid_from", _TIME, primary_key=True),
        sa.Column("valid_to", _TIME, primary_key=True),
        *_price_columns(),
        sa.CheckConstraint("valid_to > valid_from", name="ck_price_history_interval"),
        postgresql_partition_by="RANGE (valid_to)",
    )
    op.create_index("ix_price_history_market", "price_history", ["gpu", "capacity_type", "valid_to"])


def _feeds() -> None:
    op.create_table(
        "feed_states",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("scope", sa.String(), primary_key=True),
        *_columns(
            ("last_seen_at", _TIME, True),
            ("last_success_at", _TIME, True),
            ("last_attempt_at", _TIME, True),
            ("consecutive_failures", sa.Integer(), False),
            ("outcome", sa.String(), False),
            ("error", sa.String(), True),
            ("detail", sa.Text(), True),
            ("offers", sa.Integer(), False),
            ("rejected", _JSON, False),
            ("is_truncated", sa.Boolean(), False),
            ("interval_seconds", sa.Integer(), False),
            ("profile", _JSON, True),
            ("refused_profile", _JSON, True),
            ("refused_times", sa.Integer(), False),
            ("done_window", sa.BigInteger(), True),
        ),
    )
    op.create_table(
        "feed_sightings",
        sa.Column("feed", sa.String(), primary_key=True),
        sa.Column("scope", sa.String(), primary_key=True),
        sa.Column("seen_from", _TIME, primary_key=True),
        sa.Column("seen_to", _TIME, nullable=False),
    )


def _market() -> None:
    op.create_table(
        "market_version",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        *_columns(
            ("version", sa.BigInteger(), False),
            ("status_version", sa.BigInteger(), False),
            ("changed_at", _TIME, True),
            ("medians_for", _TIME, True),
        ),
    )
    op.create_table(
        "market_changes",
        sa.Column("version", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("changed_at", _TIME, nullable=False, unique=True),
        sa.Column("medians_for", _TIME, nullable=True),
    )
    op.create_table(
        "packed_feeds",
        sa.Column("feed", sa.String(), primary_key=True),
        *_columns(
            ("version", sa.BigInteger(), False),
            ("offers", sa.Integer(), False),
            ("columns", sa.LargeBinary(), False),
        ),
    )
    op.create_table(
        "price_medians",
        *(sa.Column(name, sa.String(), primary_key=True) for name in ("provider", "gpu", "capacity_type", "region_class")),
        *_columns(
            ("usd_per_gpu_hour", sa.Float(), False),
            ("low_usd_per_gpu_hour", sa.Float(), False),
            ("high_usd_per_gpu_hour", sa.Float(), False),
            ("days", sa.Float(), False),
        ),
    )


def _work() -> None:
    op.create_table(
        "leases",
        sa.Column("name", sa.String(), primary_key=True),
        *_columns(("holder", sa.String(), False), ("fence", sa.BigInteger(), False), ("expires_at", _TIME, False)),
    )
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.String(), primary_key=True),
        *_columns(
            ("kind", sa.String(), False),
            ("subject", sa.String(), False),
            ("accept", sa.Boolean(), False),
            ("status", sa.String(), False),
            ("progress", sa.Float(), False),
            ("result", _JSON, True),
            ("problem", _JSON, True),
            ("holder", sa.String(), True),
            ("created_at", _TIME, False),
            ("started_at", _TIME, True),
            ("finished_at", _TIME, True),
        ),
    )
    op.create_index("ix_jobs_status", "jobs", ["status", "created_at"])
    op.create_table(
        "on_prem_pools",
        sa.Column("name", sa.String(), primary_key=True),
        sa.Column("valid_from", _TIME, primary_key=True),
        *_columns(("valid_to", _TIME, True), ("pool", _JSON, False)),
    )
