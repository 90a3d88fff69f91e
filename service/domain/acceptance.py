"""Acceptance: what an administrator has on file for a provider's tier that no public evidence shows."""

from datetime import date
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from service.domain.base import Name, Request, Slug
from service.domain.request import Isolation


class Accepted(StrEnum):
    """What the document proves or promises."""

    SOC2_TYPE2 = "soc2_type2"
    ISO27001 = "iso27001"
    MSA = "msa"  # master agreement with audit right
    HIPAA_BAA = "hipaa_baa"
    PCI_DSS = "pci_dss"
    GDPR_DPA = "gdpr_dpa"
    FEDRAMP = "fedramp"
    EXPORT_REVIEW = "export_review"


class Acceptance(Request):
    """The body of `PUT /acceptances/{name}`. It admits only what its document is for, of one tier, between its two days."""

    name: Slug = "acceptance"
    provider: Name
    tier: Name
    attestation: Accepted
    document: Name = Field(description="where the signed document or report is filed")
    approver: Name
    accepted_on: date
    expires_on: date = Field(description="the last day on which it counts")
    isolation: Isolation | None = Field(default=None, description="what the document promises beyond the public evidence")
    note: Annotated[str, Field(max_length=4000)] = ""

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if self.expires_on < self.accepted_on:
            raise ValueError("expires_on lies before accepted_on")
        return self

    def counts(self, today: date) -> bool:
        """True from the day of acceptance to the last day."""
        return self.accepted_on <= today <= self.expires_on
