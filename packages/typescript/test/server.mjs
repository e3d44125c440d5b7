// A real server of an empty store, and servers that misbehave.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

const COMMAND = process.env.BEARINMIND_COMMAND ?? "../../.venv/bin/bearinmind";

/** `bearinmind serve` over a file of its own: its address, its key, and how it is ended. */
export async function serve() {
  const folder = mkdtempSync(join(tmpdir(), "bearinmind-"));
  const env = { ...process.env, HOME: folder, BEARINMIND_EMBEDDER: "none", BEARINMIND_CURATE: "off" };
  const words = ["--store", join(folder, "memories.db"), "serve", "--port", "0", "--first-key", "--json"];
  const server = spawn(COMMAND, words, { env, stdio: ["ignore", "pipe", "ignore"] });
  const [line] = await once(createInterface({ input: server.stdout }), "line");
  const { url, key } = JSON.parse(line);
  const stop = async () => {
    server.kill();
    await once(server, "exit");
    rmSync(folder, { recursive: true, force: true });
  };
  return { url, key, stop };
}

/** A server that answers as it is told, and remembers what it was sent. */
export async function scripted(...answers) {
  const requests = [];
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (piece) => (body += piece));
    request.on("end", () => {
      requests.push({ method: request.method, url: request.url, headers: request.headers, body });
      const { status = 200, headers = {}, json = {}, breaks = false } = answers.shift() ?? {};
      if (breaks) return request.socket.destroy();
      response.writeHead(status, { "Content-Type": "application/json", ...headers });
      response.end(JSON.stringify(json));
    });
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const url = `http://127.0.0.1:${server.address().port}`;
  return { url, requests, stop: () => new Promise((done) => server.close(done)) };
}
