"""The wiring: the only place that knows both the verbs and the adapters."""

from bearinmind.app.mind import Mind
from bearinmind.app.wiring import embedders_of, open_vault

__all__ = ["Mind", "embedders_of", "open_vault"]
