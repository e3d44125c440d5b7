// Store with claude-mem's own SessionStore and write its file. Run by Bun beside the package:
// (`npm pack claude-mem`), with the output of facts.py:
//   bun claude_mem_files.ts PACKAGE/plugin/sqlite/SessionStore.js FACTS.json FOLDER
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

const [storeModule, factsFile, folder] = process.argv.slice(2);
const { SessionStore } = require(storeModule);
const place = join(mkdtempSync(join(tmpdir(), "claude-mem-")), "claude-mem.db");
const store = new SessionStore(place);
const TYPES = ["decision", "bugfix", "feature", "refactor", "discovery", "change"];

const facts: { number: number; topic: string; text: string }[] = JSON.parse(readFileSync(factsFile, "utf8"));
for (let session = 0; session < 3; session++) {
  const content = `content-session-${session}`;
  const prompt = `Please look after the ${facts[session].topic} work`;
  const row = store.createSDKSession(content, "shop", prompt);
  const memory = `memory-session-${session}`;
  store.updateMemorySessionId(row, memory);
  store.saveUserPrompt(content, 1, prompt);
  for (const fact of facts.filter((each) => each.number % 3 === session)) {
    store.storeObservation(
      memory,
      "shop",
      {
        type: TYPES[fact.number % TYPES.length],
        title: `About ${fact.topic} ${fact.number}`,
        subtitle: `What was seen of ${fact.topic}`,
        facts: [fact.text, `Ticket ${fact.number} has the details`],
        narrative: `While working on ${fact.topic}: ${fact.text}`,
        concepts: [fact.topic, "how-it-works"],
        files_read: [`src/${fact.topic}.py`],
        files_modified: fact.number % 2 ? [`src/${fact.topic}_${fact.number}.py`] : [],
      },
      1,
      100,
      1_740_000_000_000 + 60_000 * fact.number,
    );
  }
  store.storeSummary(
    memory,
    "shop",
    {
      request: prompt,
      investigated: `The ${facts[session].topic} module`,
      learned: `The ${facts[session].topic} module retries twice`,
      completed: "Added a test",
      next_steps: "Watch the dashboards",
      notes: session ? null : "Ask the team about the limits",
    },
    1,
    100,
    1_740_000_000_000 + 3_600_000 * session,
  );
}
store.db.run("PRAGMA wal_checkpoint(TRUNCATE)");
store.db.run("PRAGMA journal_mode = DELETE");
store.close();
writeFileSync(join(folder, "claude-mem.db.gz"), gzipSync(readFileSync(place), { level: 9 }));
