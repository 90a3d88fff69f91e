"""AWS EC2: on-demand prices of the public price list and, with credentials, spot prices of every zone."""

from providers.aws.adapter import Aws

__all__ = ["Aws"]
