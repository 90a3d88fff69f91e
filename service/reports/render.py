"""Render: a report in each of its formats."""

from collections.abc import Iterator

from service.domain.report import ReportFormat, ReportInputs
from service.reports import csv, html, json, markdown, pdf, xlsx
from service.reports.build import build_report


def rendered(inputs: ReportInputs) -> Iterator[tuple[ReportFormat, bytes]]:
    """Every format, quickest first. The page is drawn once, for itself and for the PDF."""
    report = build_report(inputs)
    yield ReportFormat.JSON, json.render(report)
    yield ReportFormat.MD, markdown.render(report)
    yield ReportFormat.CSV, csv.render(report)
    yield ReportFormat.XLSX, xlsx.render(report)
    page = html.html_of(report)
    yield ReportFormat.HTML, page.encode()
    yield ReportFormat.PDF, pdf.render(report, page)
