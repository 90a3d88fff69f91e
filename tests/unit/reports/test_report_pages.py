"""The page, the PDF and the Markdown: what stands on them, that they load nothing, and that they come out alike."""

import re
import shutil
import subprocess

import pytest

from service.reports import html, markdown, pdf
from service.reports.build import build_report


@pytest.fixture(scope="module")
def small(review, once):
    """A report over one plan of single runs."""
    return build_report(review((once, "trial"), months=3))


@pytest.fixture(scope="module")
def printed(small):
    return pdf.render(small)


def test_the_pdf_is_the_same_byte_for_byte(small, printed):
    assert pdf.render(small) == printed
    assert printed.startswith(b"%PDF-")


def test_every_page_of_the_pdf_has_its_number_plan_prices_and_input(small, printed, tmp_path):
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed (Debian: poppler-utils)")
    (tmp_path / "r.pdf").write_bytes(printed)
    told = subprocess.run(["pdftotext", "-layout", str(tmp_path / "r.pdf"), "-"], check=True, capture_output=True, text=True)
    pages = [page for page in told.stdout.split("\f") if page.strip()]
    assert len(pages) > 2
    for number, page in enumerate(pages, 1):
        assert re.search(rf"\b{number} ?/ ?{len(pages)}\b", page)
        words = re.sub(r"\s+", " ", page)
        assert small.input_hash in words
        assert small.plan_ids[0] in words
        assert "prices of 2026-09-20 12:00 UTC" in words


def test_a_page_that_would_load_something_is_refused(small):
    for foreign in ("https://example.com/x.png", "file:///etc/hostname"):
        page = html.html_of(small).replace("<body>", f'<body><img src="{foreign}">')
        with pytest.raises(pdf.ForeignAsset):
            pdf.render(small, page)


def test_markdown_begins_with_the_title_and_marks_nothing_of_the_users(review, once):
    text = markdown.render(build_report(review((once, "# [x](http://evil) <b> | `y`"), months=3))).decode()
    assert text.startswith("# Review\n")
    assert "\\# \\[x\\]\\(http://evil\\) \\<b\\> \\| \\`y\\`" in text
    tables = [line for line in text.splitlines() if line.startswith("|")]
    widths = {line.count(" | ") for line in tables if "---" in line}
    assert widths


def test_the_page_names_amounts_currency_and_what_is_an_estimate(small):
    page = html.html_of(small)
    assert "(USD)" in page
    assert "estimates" in page
    assert page.count("<h1>") == 1
