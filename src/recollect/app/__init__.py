"""The wiring: the only place that knows both the verbs and the adapters."""

from recollect.app.recollect import Recollect
from recollect.app.wiring import embedders_of, open_vault

__all__ = ["Recollect", "embedders_of", "open_vault"]
