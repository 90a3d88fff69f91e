"""Standing: the policy, the acceptances and the measured use of pools, read from what is stored."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from providers.errors import InvalidInput
from service.domain.acceptance import Acceptance
from service.domain.measured import MeasuredUse
from service.solver.policy_table import SHIPPED, Policy, read_policy
from service.solver.standing import Standing

if TYPE_CHECKING:
    from sqlalchemy import Engine

ACCEPTANCE, POLICY, MEASURED = "acceptance", "policy", "measured"
_ONLY = "policy"  # the name of the one policy
LARGEST_BYTES = 1_000_000


class PolicyUnreadable(InvalidInput):
    """The file that the setting names is no policy: plans would silently follow the shipped one."""

    code = "policy-unreadable"


def standing_of(entries: Iterable[tuple[str, str, Mapping[str, Any]]]) -> Standing:
    """What these stored entries say; the shipped policy where none is stored."""
    policy, acceptances, measured = SHIPPED, {}, {}
    for kind, name, content in entries:
        if kind == POLICY:
            policy = read_policy(content["text"])
        elif kind == ACCEPTANCE:
            acceptances[name] = Acceptance.model_validate(content, strict=False)
        elif kind == MEASURED:
            measured[name] = MeasuredUse.model_validate(content, strict=False)
    return Standing(policy=policy, acceptances=acceptances, measured=measured)


def load_policy(path: Path | None) -> Policy:
    """The policy of a file; no path is the shipped table.

    Raises:
        PolicyUnreadable: the file is not there, too large, or holds no policy; the pointer says where.
    """
    if path is None:
        return SHIPPED
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
        if len(raw) > LARGEST_BYTES:
            raise PolicyUnreadable(f"the policy file is over {LARGEST_BYTES} bytes")
        return read_policy(raw.decode("utf-8"))
    except OSError as error:
        raise PolicyUnreadable(f"the policy file cannot be read ({type(error).__name__})") from error
    except UnicodeDecodeError as error:
        raise PolicyUnreadable("the policy file is not UTF-8") from error
    except PolicyUnreadable:
        raise
    except InvalidInput as error:
        raise PolicyUnreadable(f"the policy file: {error.pointer} {error}", allowed=error.allowed) from error


def keep_policy(engine: "Engine", policy: Policy, *, now: datetime) -> None:
    """Makes this the policy of every plan from now on; plans with an earlier `as_of` keep the one of then."""
    from service.store.engine import writing
    from service.store.standing import put_entry

    content = None if policy == SHIPPED else {"text": policy.text}
    with writing(engine) as connection:
        put_entry(connection, POLICY, _ONLY, content, now=now)
