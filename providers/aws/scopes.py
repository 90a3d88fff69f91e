"""What every reader of AWS prices shares: which regions, with which keys, and each region as a failure domain of its own."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from pydantic import SecretStr

from providers.base import Json
from providers.errors import InvalidInput, ProviderError, ProviderUnavailable

DEFAULT_REGIONS = ("us-east-1", "us-west-2", "eu-west-1", "eu-central-1")
_REGION_NAME = re.compile(r"[a-z]{2,4}(-[a-z]+){1,3}-\d{1,2}")


def check_regions(regions: Sequence[str]) -> None:
    """Raises InvalidInput unless there is a region and each is written like one."""
    if not regions or not all(_REGION_NAME.fullmatch(region) for region in regions):
        raise InvalidInput("regions: at least one AWS region code, like us-east-1", pointer="/regions")


def spot_scope(region: str) -> str:
    """The failure domain of a region's spot prices, which take a permission of their own: apart from its price list."""
    return f"{region} spot"


def is_set(secret: SecretStr | None) -> bool:
    return secret is not None and bool(secret.get_secret_value())


def half_a_pair(access_key_id: SecretStr | None, secret_access_key: SecretStr | None) -> str | None:
    """Which key of the pair is missing; None when both or neither are set."""
    has_id, has_secret = is_set(access_key_id), is_set(secret_access_key)
    if has_id and not has_secret:
        return "secret_access_key: it belongs to access_key_id"
    if has_secret and not has_id:
        return "access_key_id: it belongs to secret_access_key"
    return None


def read_regions(provider: str, regions: Sequence[str], read: Callable[[str], Json]) -> dict[str, Any]:
    """Each region read on its own: {"regions", "failed", "notes", "advisor"}; raises ProviderError when none could be."""
    sections: dict[str, Json] = {}
    errors: dict[str, ProviderError] = {}
    for region in regions:
        try:
            sections[region] = read(region)
        except ProviderError as error:
            errors[region] = error
    if not sections:
        first = next(iter(errors.values()))
        if all(type(error) is type(first) for error in errors.values()):
            raise first
        codes = ", ".join(f"{region} {error.code}" for region, error in errors.items())
        raise ProviderUnavailable(provider, f"no region could be read: {codes}")
    return {
        "regions": sections,
        "failed": {region: error.code for region, error in errors.items()},
        "notes": [str(error) for error in errors.values()],
        "advisor": None,
    }
