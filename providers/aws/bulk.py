"""The price list without credentials: one public CSV of hundreds of MB for each region, filtered while it streams.

A file's address holds its version and its content never changes, so rows once read are kept for that address: a
refresh downloads a region again only when AWS has published a new version (about daily).
Source: AWS Billing documentation of the bulk price list files, read 2026-10.
"""

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice

import httpx

from providers.aws.instances import shipped_facts
from providers.aws.price_list import CSV_FIELDS, CSV_TERM_COLUMNS, SERVICE
from providers.base import Json
from providers.errors import ProviderCredentials, ProviderError, ProviderPayloadInvalid
from providers.http import get_json, stream_lines

BULK_BASE_URL = "https://pricing.us-east-1.amazonaws.com"
REGION_INDEX = "/offers/v1.0/aws/{}/current/region_index.json"  # of a service
LINES_BEFORE_HEADER = 20  # five today

KeptRows = MutableMapping[str, tuple[str, Json]]  # region: address read, what was kept of it


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is kept of a service's file: columns (where the file has them), and rows by their cells, column -> cell."""

    columns: tuple[str, ...]
    needed: frozenset[str]
    is_read: Callable[[list[str], Mapping[str, int]], bool]  # of a row and the place of each column in it


def region_paths(http: httpx.Client, provider: str, base_url: str, *, service: str = SERVICE) -> dict[str, str]:
    """Region -> path of its current CSV file.

    Raises:
        ProviderError: the index cannot be read, is none, or points to another host.
    """
    index = get_json(http, provider, base_url + REGION_INDEX.format(service))
    regions = index.get("regions") if isinstance(index, dict) else None
    if not isinstance(regions, dict) or not regions:
        raise ProviderPayloadInvalid(provider, "the region index holds no 'regions' map")
    paths: dict[str, str] = {}
    for region, entry in regions.items():
        path = entry.get("currentVersionUrl") if isinstance(entry, dict) else None
        if not isinstance(path, str) or not path.startswith("/") or path.startswith("//"):
            raise ProviderPayloadInvalid(provider, "the region index holds an address that is no path")
        paths[str(region)] = path
    return paths


def fetch_bulk_region(
    http: httpx.Client, provider: str, base_url: str, path: str, *, region: str, kept: KeptRows, wanted: "Wanted | None" = None
) -> Json:
    """`{"layout", "listed", "passed_over"}` of one region, from `kept` when this very file was read before."""
    held = kept.get(region)
    if held is not None and held[0] == path:
        return held[1]
    section = _read_file(http, provider, base_url, path, wanted or EC2_ROWS)
    kept[region] = (path, section)
    return section


def _read_file(http: httpx.Client, provider: str, base_url: str, path: str, wanted: Wanted) -> Json:
    """The CSV beside the JSON file that the index names; where there is none, the JSON file if it is small enough."""
    csv_path = f"{path.removesuffix('.json').removesuffix('.csv')}.csv"
    source = f"AWS public price list, {path[:200]}"
    try:
        rows, passed_over = filter_csv(provider, stream_lines(http, provider, base_url + csv_path), wanted)
    except (ProviderPayloadInvalid, ProviderCredentials):  # 404, or the 403 of an object store for what is not there
        if csv_path == path:
            raise
        with suppress(ProviderError):
            return {"layout": "json", "listed": get_json(http, provider, base_url + path), "passed_over": 0, "source": source}
        raise
    return {"layout": "csv", "listed": rows, "passed_over": passed_over, "source": source}


def filter_csv(provider: str, lines: Iterable[str], wanted: "Wanted | None" = None) -> tuple[list[dict[str, str]], int]:
    """The wanted rows (of EC2: on-demand terms of Linux machines with a GPU, gp3 volumes); and how many others there were.

    Raises:
        ProviderPayloadInvalid: no header within the first lines, or one without a column that we read.
    """
    reader = csv.reader(iter(lines))
    header = next((row for row in islice(reader, LINES_BEFORE_HEADER) if row and row[0].strip() == "SKU"), None)
    if header is None:
        raise ProviderPayloadInvalid(provider, "the bulk price list has no header row")
    wanted = wanted or EC2_ROWS
    place = {column: header.index(column) for column in wanted.columns if column in header}
    if missing := wanted.needed - place.keys():
        raise ProviderPayloadInvalid(provider, f"the bulk price list has no column {sorted(missing)[0]}")
    kept: list[dict[str, str]] = []
    passed_over = 0
    for row in _rows(reader, len(header)):
        if wanted.is_read(row, place):
            kept.append({column: row[index] for column, index in place.items()})
        else:
            passed_over += 1
    return kept, passed_over


def _rows(reader: Iterator[list[str]], width: int) -> Iterator[list[str]]:
    """Rows of full width; a shorter one is padded, so that it is read as a row with empty fields and refused there."""
    for row in reader:
        if row:
            yield row if len(row) >= width else row + [""] * (width - len(row))


def _is_read(row: list[str], place: Mapping[str, int]) -> bool:
    if row[place["TermType"]] != "OnDemand":
        return False
    if "Volume API Name" in place and row[place["Volume API Name"]] == "gp3":
        return True
    if row[place["Operating System"]] != "Linux":
        return False
    has_gpu = "GPU" in place and row[place["GPU"]] not in ("", "0", "NA")
    return has_gpu or row[place["Instance Type"]] in shipped_facts()


_TERMS = frozenset({"SKU", "TermType", "PricePerUnit", "Unit"})
EC2_ROWS = Wanted(
    columns=(*CSV_TERM_COLUMNS, *CSV_FIELDS), needed=_TERMS | {"Instance Type", "Operating System"}, is_read=_is_read
)
