"""The user's own list: read again at each refresh, told clearly when it cannot be."""

from datetime import UTC, datetime

import pytest

from providers.errors import ProviderPayloadInvalid, ProviderPayloadTooLarge, ProviderUnavailable
from providers.offer import PriceBasis
from providers.price_file import MAX_BYTES, PriceFile

NOW = datetime(2026, 10, 1, tzinfo=UTC)
TEXT = """provider,gpu,gpu_memory_gb,gpu_count,region,on_demand_usd_per_hour,spot_usd_per_hour,as_of,source
acme,L4,24,1,x,0.9,0.5,2026-01-01,café
acme,L4,24,1,x,0.8,,2026-06-01,newer
acme,L9,24,1,x,0.8,,2026-06-01,unknown
"""


def test_prices_are_negotiated_and_history_is_kept_apart(tmp_path):
    (path := tmp_path / "prices.csv").write_text(TEXT, encoding="utf-8-sig")
    adapter = PriceFile(path=path)
    batch = adapter.parse(adapter.fetch(None), NOW)
    assert {offer.price_basis for offer in batch.offers} == {PriceBasis.NEGOTIATED}
    assert {offer.feed for offer in batch.offers} == {"price_file"}
    assert sorted(str(offer.usd_per_hour) for offer in batch.offers) == ["0.5", "0.8"]
    assert [str(offer.usd_per_hour) for offer in batch.history] == ["0.9"]
    assert [(one.row, one.reason) for one in batch.rejected] == [("line 4", "unknown_gpu")]
    assert batch.row_count == 3


def test_without_a_path_it_says_which_setting_is_missing():
    assert "PATH" in PriceFile().missing_credentials()
    with pytest.raises(ProviderUnavailable, match="PATH"):
        PriceFile().fetch(None)


def test_a_path_that_is_set_is_enough(tmp_path):
    assert PriceFile(path=tmp_path / "x.csv").missing_credentials() is None


def test_a_file_that_is_not_there_is_told_without_its_path(tmp_path):
    with pytest.raises(ProviderUnavailable, match="does not exist") as caught:
        PriceFile(path=tmp_path / "secret-name.csv").fetch(None)
    assert "secret-name" not in str(caught.value)


def test_a_folder_is_told(tmp_path):
    with pytest.raises(ProviderUnavailable, match="is a folder"):
        PriceFile(path=tmp_path).fetch(None)


def test_another_encoding_is_told_with_its_line(tmp_path):
    (path := tmp_path / "prices.csv").write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(ProviderPayloadInvalid, match=r"not UTF-8 \(line 2\)"):
        PriceFile(path=path).fetch(None)


def test_a_file_over_the_limit_is_not_read_whole(tmp_path):
    path = tmp_path / "prices.csv"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(ProviderPayloadTooLarge):
        PriceFile(path=path).fetch(None)


def test_a_payload_of_another_kind_is_refused():
    with pytest.raises(ProviderPayloadInvalid):
        PriceFile().parse({"rows": []}, NOW)
