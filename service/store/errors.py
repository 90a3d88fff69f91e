"""What storage refuses."""

from providers.errors import OptimizerError


class SchemaTooNew(OptimizerError):
    """The database was written by a newer version of this command: it is left alone."""

    code = "schema-too-new"


class SchemaOutdated(OptimizerError):
    """The database is older than this command, and nobody allowed to migrate it."""

    code = "schema-outdated"


class LeaseLost(OptimizerError):
    """Another process refreshes now: nothing that this one still holds may be written."""

    code = "lease-lost"


class UnknownJob(OptimizerError):
    """No job has this id."""

    code = "unknown-job"


class UnknownPool(OptimizerError):
    """No stored pool has this name."""

    code = "unknown-pool"


class UnknownAcceptance(OptimizerError):
    """No registered acceptance has this name."""

    code = "unknown-acceptance"


class UnknownPlan(OptimizerError):
    """No saved plan has this id."""

    code = "unknown-plan"


class UnknownShare(OptimizerError):
    """No link of this kind holds: unknown, over and revoked are told alike."""

    code = "unknown-share"


class UnknownReport(OptimizerError):
    """No report has this id."""

    code = "unknown-report"


class UnknownKey(OptimizerError):
    """No API key has this id."""

    code = "unknown-key"
