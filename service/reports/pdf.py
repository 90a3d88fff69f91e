"""PDF: the HTML page on paper, with page numbers and the imprint on every page. It loads nothing from anywhere."""

from datetime import datetime

from providers.errors import OptimizerError
from service.reports.html import html_of
from service.reports.model import Report


class ForeignAsset(OptimizerError):
    """The page names something to load, which a report never does."""

    code = "foreign-asset"


class EngineMissing(OptimizerError):
    """The layout engine cannot load the system's libraries."""

    code = "pdf-engine-missing"


def render(report: Report, page: str | None = None) -> bytes:
    """The PDF of the report's page; the same report gives the same bytes.

    Raises:
        EngineMissing: the layout engine does not start on this machine.
    """
    try:
        from weasyprint import HTML  # the layout engine takes a second to load
        from weasyprint.urls import FatalURLFetchingError, URLFetcher
    except OSError as error:
        raise EngineMissing("PDF needs the Pango library: apt-get install libpango-1.0-0 libpangoft2-1.0-0") from error
    nothing = URLFetcher(allowed_protocols=(), fail_on_errors=True)
    try:
        document = HTML(string=page or html_of(report), url_fetcher=nothing, media_type="print").render()
    except FatalURLFetchingError as error:
        raise ForeignAsset("a report loads nothing") from error
    document.metadata.title = report.title
    document.metadata.created = _stamp(report.stamp)
    document.metadata.modified = _stamp(report.stamp)
    made: bytes = document.write_pdf(pdf_identifier=report.input_hash.encode(), pdf_tags=True)
    return made


def _stamp(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
