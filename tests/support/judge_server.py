"""A real server in a thread that speaks the chat protocol: it writes questions, and grades."""

from __future__ import annotations

import json
import re
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-not-to-be-seen"  #: what it is asked with


class Models(ThreadingHTTPServer):
    """A writer and a judge behind one address."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.refuse_after = 10_000
        self.question = "Which machine is downstairs?"
        self.nonsense = 0  # answers that are no answers, before the good ones

    def answer(self, model: str, text: str) -> object:
        if self.nonsense:
            self.nonsense -= 1
            return {"colour": "green"}
        if model == "writer":
            return {"question": self.question}
        question, memory = re.findall(r"<\w+>\n(.*?)\n</\w+>", text, re.DOTALL)
        noun = question.split()[0]
        return {"grade": 3 if f"The {noun} " in memory else 0}


class Handler(BaseHTTPRequestHandler):
    server: Models

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        text = request["messages"][-1]["content"]
        self.server.asked.append(text)
        status = 401 if len(self.server.asked) > self.server.refuse_after else 200
        content = json.dumps(self.server.answer(request["model"], text))
        body = json.dumps({"choices": [{"message": {"content": content}}]}).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""
