"""Libraries that would report to their makers are told not to, before they are imported."""

from __future__ import annotations

import os


def hush_onnxruntime() -> None:
    """Keep ONNX Runtime from sending events about its sessions.

    Its official builds do so by themselves, and keep a file about it in the user's home; a call
    after its import comes too late.
    """
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
