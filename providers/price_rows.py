"""The rows of a price table: its columns checked once, each row under the line it starts on."""

import csv
import re
from collections.abc import Iterator

from rapidfuzz import process
from rapidfuzz.distance import JaroWinkler

from providers.errors import ProviderPayloadInvalid
from providers.price_cells import Cells

REQUIRED = (
    "provider",
    "gpu",
    "gpu_memory_gb",
    "gpu_count",
    "region",
    "on_demand_usd_per_hour",
    "spot_usd_per_hour",
    "as_of",
    "source",
)
_MACHINE = ("instance_type", "tier", "tenancy", "country", "vcpus", "memory_gib", "disk_gib", "interconnect", "arch")
OPTIONAL = (*_MACHINE, "capacity_type", "term_months", "upfront_usd", "valid_until", "as_of_note", "min_machines")


def table_rows(feed: str, text: str) -> Iterator[tuple[str, Cells | str]]:
    """Each row under the line it starts on; a text instead of cells says what is wrong with it as a whole.

    Raises:
        ProviderPayloadInvalid: it is no CSV, a needed column is absent, or there is a column of another name.
    """
    reader = csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True), strict=True)
    columns: list[str] | None = None
    start = 1
    try:
        for row in reader:
            line, start = f"line {start}", reader.line_num + 1
            if not any(cell.strip() for cell in row):
                continue
            if columns is None:
                columns = _checked_header(feed, row)
            elif len(row) != len(columns):
                yield line, f"{len(row)} cells under {len(columns)} columns"
            else:
                yield line, Cells(dict(zip(columns, row, strict=True)))
    except csv.Error:
        pass
    else:
        if columns is None:
            raise ProviderPayloadInvalid(feed, "the price list is empty")
        return
    raise ProviderPayloadInvalid(feed, f"the price list is no CSV from line {start} on (an open quote?)")


def _checked_header(feed: str, row: list[str]) -> list[str]:
    columns = [cell.strip().casefold() for cell in row]
    if len(columns) == 1 and ";" in columns[0]:
        raise ProviderPayloadInvalid(feed, "the price list is separated by semicolons: commas are needed")
    known = (*REQUIRED, *OPTIONAL)
    for place, column in enumerate(columns, start=1):
        if column not in known:
            nearest = process.extractOne(column, known, scorer=JaroWinkler.similarity)
            named = re.sub(r"[^a-z0-9_ -]", "?", column)[:40]
            hint = f"; the nearest known one is {nearest[0]}" if nearest and nearest[1] >= 0.7 else ""
            raise ProviderPayloadInvalid(feed, f"column {place} of the price list ({named}) is not known{hint}")
        if columns.count(column) > 1:
            raise ProviderPayloadInvalid(feed, f"column {column} stands twice in the price list")
    if missing := [column for column in REQUIRED if column not in columns]:
        raise ProviderPayloadInvalid(feed, f"the price list has no column {', '.join(missing)}")
    return columns
