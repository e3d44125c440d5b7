"""An embedder that answers only when it is let, for calls that are to take long."""

from __future__ import annotations

import threading
from typing import Any, Self

from embedding_server import EmbeddingServer, Handler, well


class SlowEmbedder(EmbeddingServer):
    """Keeps whoever asks waiting until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()
        self.always = self._wait

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let.set()
        self.shutdown()
        self.server_close()

    def _wait(self, handler: Handler, body: Any) -> None:
        self.let.wait(60)
        well(handler, body)

    @property
    def settings(self) -> dict[str, Any]:
        return {"embedder": "http:m", "embedder_url": self.url, "embedder_timeout": 60}
