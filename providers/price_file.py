"""The user's own price list: negotiated prices from a CSV file, read again at every refresh.

Columns: price_rows.py. The file stays with the user; prices of it are marked negotiated, so shared answers can hide them.
"""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar

import httpx

from providers.base import Adapter, Json
from providers.errors import ProviderPayloadInvalid, ProviderPayloadTooLarge, ProviderUnavailable
from providers.offer import Batch, PriceBasis
from providers.price_list import read_price_list

MAX_BYTES = 20_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PriceFile(Adapter):
    """Reads `path`; None means that the user has no list."""

    path: Path | None = None

    name: ClassVar[str] = "price_file"
    has_spot: ClassVar[bool] = True

    def missing_credentials(self) -> str | None:
        return "no price file is set (PATH)" if self.path is None else None

    def fetch(self, http: httpx.Client) -> Json:  # noqa: ARG002  # the contract's argument: a file needs no network
        """The text of the file. Raises ProviderError; the message holds neither path nor content."""
        if self.path is None:
            raise ProviderUnavailable(self.name, "no price file is set (PATH)")
        try:
            with self.path.open("rb") as file:
                body = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            fault = "the price file does not exist"
        except IsADirectoryError:
            fault = "the price file is a folder"
        except PermissionError:
            fault = "the price file may not be read by this user"
        except (OSError, ValueError) as error:
            fault = f"the price file cannot be read ({type(error).__name__})"
        else:
            return self._text(body)
        raise ProviderUnavailable(self.name, fault)

    def parse(self, payload: Json, observed_at: datetime) -> Batch:
        if not isinstance(payload, str):
            raise ProviderPayloadInvalid(self.name, "the price list is no text")
        prices = read_price_list(payload, feed=self.name, price_basis=PriceBasis.NEGOTIATED, observed_at=observed_at)
        return Batch(offers=prices.current, rejected=prices.rejected, history=prices.history, row_count=prices.row_count)

    def _text(self, body: bytes) -> str:
        if len(body) > MAX_BYTES:
            raise ProviderPayloadTooLarge(self.name, f"the price file is over {MAX_BYTES:,} bytes")
        try:
            return body.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            line = body.count(b"\n", 0, error.start) + 1
        raise ProviderPayloadInvalid(self.name, f"the price file is not UTF-8 (line {line}): save it as UTF-8 CSV")
