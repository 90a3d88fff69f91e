"""AWS SageMaker: managed training and hosting machines by region, from the public price list or the Query API."""

from providers.sagemaker.adapter import SageMaker

__all__ = ["SageMaker"]
