"""Doors: the core with every platform whose secret is set, built once from the settings."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import httpx
from pydantic import SecretStr

from service.chat.core import ChatCore
from service.chat.discord import Discord
from service.chat.mattermost import Mattermost
from service.chat.outgoing import Alarms, Poster, Resolve, make_chat_client, resolved
from service.chat.platform import AllowList, Background, Once
from service.chat.slack import Slack
from service.chat.teams import Teams
from service.chat_settings import ChatSettings, PlatformSettings
from service.flows.chat import ChatWorld


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatDoors:
    """What the routes and the watcher call; a platform without its secret is None."""

    world: ChatWorld
    core: ChatCore
    background: Background
    http: httpx.Client
    alarms: Alarms
    allow_private_webhooks: bool
    slack: Slack | None = None
    teams: Teams | None = None
    mattermost: Mattermost | None = None
    discord: Discord | None = None

    def close(self) -> None:
        """Ends the work behind the doors; a post under way is broken off, so that the process can end."""
        self.background.stop()
        self.http.close()


def build_doors(
    world: ChatWorld, settings: ChatSettings, *, http: httpx.Client | None = None, resolve: Resolve = resolved
) -> ChatDoors:
    """The doors over a world; `http` carries answers and alarms, `resolve` finds the addresses of a webhook's host."""
    client = http or make_chat_client()
    core, background, once, poster = ChatCore(world), Background(), Once(world.clock), Poster(client)
    return ChatDoors(
        world=world,
        core=core,
        background=background,
        http=client,
        alarms=_alarms(settings, client, world.clock, resolve),
        allow_private_webhooks=settings.allow_private_webhooks,
        slack=_slack(settings, core, background, once, poster),
        teams=_teams(settings, core, background),
        mattermost=_mattermost(settings, core, background),
        discord=_discord(settings, core, background, once, poster),
    )


def _alarms(settings: ChatSettings, client: httpx.Client, clock: Callable[[], datetime], resolve: Resolve) -> Alarms:
    webhooks = {
        "teams": settings.teams.webhook_url,
        "mattermost": settings.mattermost.webhook_url,
        "discord": settings.discord.webhook_url,
    }
    return Alarms(
        http=client,
        clock=clock,
        slack_bot_token=_open(settings.slack.bot_token),
        chat_webhooks={name: address.get_secret_value() for name, address in webhooks.items() if address is not None},
        allow_private=settings.allow_private_webhooks,
        resolve=resolve,
    )


def _slack(settings: ChatSettings, core: ChatCore, background: Background, once: Once, poster: Poster) -> Slack | None:
    secret = _open(settings.slack.signing_secret)
    if secret is None:
        return None
    return Slack(
        signing_secret=secret, core=core, background=background, once=once, clock=core.clock, post=poster.post,
        allowed=_allowed(settings.slack), can_alarm=settings.slack.bot_token is not None,
    )  # fmt: skip


def _teams(settings: ChatSettings, core: ChatCore, background: Background) -> Teams | None:
    secret = _open(settings.teams.signing_secret)
    if secret is None:
        return None
    return Teams(
        secret=secret, core=core, background=background, clock=core.clock, allowed=_allowed(settings.teams),
        can_alarm=settings.teams.webhook_url is not None,
    )  # fmt: skip


def _mattermost(settings: ChatSettings, core: ChatCore, background: Background) -> Mattermost | None:
    token = _open(settings.mattermost.token)
    if token is None:
        return None
    return Mattermost(
        token=token, core=core, background=background, allowed=_allowed(settings.mattermost),
        can_alarm=settings.mattermost.webhook_url is not None,
    )  # fmt: skip


def _discord(settings: ChatSettings, core: ChatCore, background: Background, once: Once, poster: Poster) -> Discord | None:
    key = _open(settings.discord.public_key)
    if key is None:
        return None
    return Discord(
        public_key=key, core=core, background=background, once=once, clock=core.clock, patch=poster.patch,
        allowed=_allowed(settings.discord), holds_negotiated=core.holds_negotiated,
        can_alarm=settings.discord.webhook_url is not None,
    )  # fmt: skip


def _allowed(settings: PlatformSettings) -> AllowList:
    return AllowList(workspaces=frozenset(settings.workspaces), channels=frozenset(settings.channels))


def _open(secret: SecretStr | None) -> str | None:
    return None if secret is None or not secret.get_secret_value() else secret.get_secret_value()
