"""Whatever is asked of the chat, the answer is one, fits every platform's limits and carries no live markup."""

import importlib.util
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings

from providers.gpus import GPUS
from providers.offer import Availability, CapacityType, Offer, Tenancy
from service.chat.blocks import slack_message
from service.chat.core import Asker, ChatCore
from service.chat.discord import discord_message
from service.chat.mattermost import mattermost_message
from service.chat.phrase import phrase_of
from service.chat.render import chat_answer
from service.chat.teams import teams_message
from service.flows.chat import ChatWorld, LastPlans
from service.solver.columns import columns_of
from service.solver.market import FeedStatus, Market
from service.store.engine import make_engine
from service.store.schema import prepare_database

_SPEC = importlib.util.spec_from_file_location("phrase_laws", Path(__file__).with_name("test_phrase_laws.py"))
_LAWS = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(_LAWS)
NOW = datetime(2026, 9, 20, 12, 0, tzinfo=UTC)


def offer_of(gpu, usd, **changes):
    plain = {
        "feed": "lambda", "provider": "lambda", "tier": "on-demand", "instance_type": "<!channel> *box*", "gpu_count": 8.0,
        "capacity_type": CapacityType.ON_DEMAND, "tenancy": Tenancy.PROVIDER_DATACENTER, "region": "us-east-1", "country": "US",
        "availability": Availability.AVAILABLE, "observed_at": NOW, "source": "@here <https://evil.example|page>",
        "gpu_memory_gb": GPUS[gpu].memory_gb, "form_factor": GPUS[gpu].form_factor,
    }  # fmt: skip
    return Offer(gpu=gpu, usd_per_hour=Decimal(usd), **{**plain, **changes})


@pytest.fixture(scope="module")
def core(tmp_path_factory):
    engine = make_engine(f"sqlite:///{tmp_path_factory.mktemp('chat')}/prices.db")
    prepare_database(engine)
    offers = (offer_of("H100-SXM", "20"), offer_of("A10", "0.7", gpu_count=1.0), offer_of("L40S", "6", region="@all `x`"))
    market = Market.build(
        {"lambda": columns_of(offers)}, [FeedStatus(name="lambda", last_success_at=NOW, offers=3)], snapshot_id="s", as_of=NOW
    )
    world = ChatWorld(clock=lambda: NOW, market=lambda: market, engine=engine, last_plans=LastPlans(lambda: NOW))
    yield ChatCore(world)
    engine.dispose()


def texts_in(value):
    if isinstance(value, dict):
        for name, inner in value.items():
            if name not in ("custom_id", "value", "action_id"):
                yield from texts_in(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner)
    elif isinstance(value, str):
        yield value


@settings(max_examples=60)
@given(reading=_LAWS.readings)
def test_every_answer_fits_every_platform_and_mentions_nobody(core, reading):
    answer = core.answer(phrase_of(reading), Asker(key="a"))
    slack, discord = slack_message(answer), discord_message(answer)
    teams, mattermost = teams_message(answer), mattermost_message(answer)
    texts = list(texts_in(slack))
    assert len(slack["blocks"]) <= 50
    assert max(map(len, texts)) <= 3000
    assert sum(map(len, texts)) <= 12_000
    assert len(discord["content"]) <= 2000
    assert all(len(embed["description"]) <= 4096 for embed in discord["embeds"])
    for message in (slack, discord, teams, mattermost):
        for text in texts_in(message):
            assert "@here" not in text
            assert "@all" not in text
            assert "<!channel>" not in text
    assert chat_answer(answer).text
