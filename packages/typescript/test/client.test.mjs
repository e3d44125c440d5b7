// The client against a real server, and against servers that misbehave.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { BearInMindError, Client, OPERATIONS } from "../dist/index.js";
import { scripted, serve } from "./server.mjs";

let server;
let client;
before(async () => {
  server = await serve();
  client = new Client({ url: server.url, key: server.key });
});
after(() => server.stop());

test("every verb of the table has its method", () => {
  for (const name of Object.keys(OPERATIONS)) {
    const camel = (text) => text.replace(/_(\w)/g, (_, letter) => letter.toUpperCase());
    const method = name.split(".").map(camel).reduce((owner, part) => owner[part], client);
    assert.equal(typeof method, "function", name);
  }
  assert.ok(Object.keys(OPERATIONS).length > 40);
});

test("memories are stored, recalled, changed, linked and deleted", async () => {
  const old = await client.store({ content: "Releases are cut on Thursdays.", tags: ["ops"] });
  assert.equal(old.kind, "stored");
  const stored = await client.store({
    content: "Releases are cut on Fridays.",
    supersedes: [old.memory.id],
  });
  const again = await client.store({ content: "Releases are cut on Fridays." });
  assert.equal(again.kind, "already_known");

  const answer = await client.recall({ query: "When are releases cut?", limit: 3 });
  assert.equal(answer.hits[0].memory.id, stored.memory.id);
  assert.ok(["found", "perhaps"].includes(answer.verdict));
  assert.deepEqual((await client.history({ thing: "releases" })).chains[0].length, 2);

  const { id, version } = stored.memory;
  const changed = await client.update({ id, importance: 0.9, expected_version: version });
  assert.equal(changed.version, 2);
  const stale = client.update({ id, importance: 0.1, expected_version: 1 });
  await assert.rejects(stale, { code: "version_conflict" });
  const whole = await client.get({ id });
  assert.deepEqual([whole.memory.importance, whole.earlier.length], [0.9, 1]);
  const why = await client.whyNot({ query: "releases", id: old.memory.id });
  assert.match(why.reason, /superseded/);
  assert.ok((await client.delete({ id })).deleted_at);
  assert.equal((await client.restore({ id })).deleted_at ?? null, null);
  assert.equal((await client.stats()).live, 1);
});

test("lists, tags with slashes and dates go through the address", async () => {
  await client.store({ content: "The wiki is backed up.", tags: ["a/b", "ops"], category: "facts" });
  const page = await client.list({ tags: ["a/b", "ops"], created_from: "2020-01-01", limit: 5 });
  assert.equal(page.memories.length, 1);
  await client.accounts.addUser({ name: "ben" });
  const shared = await client.shareTag({ tag: "a/b", reader: "ben", right: "read" });
  assert.deepEqual([shared.tag, shared.reader], ["a/b", "ben"]);
  const everything = [];
  for await (const memory of client.every({ limit: 1 })) everything.push(memory.id);
  assert.equal(new Set(everything).size, (await client.stats()).live);
});

test("many are stored at once, and the graph is walked", async () => {
  const drafts = [{ content: "Dana Okafor owns Redis." }, { content: " " }];
  const { outcomes } = await client.storeMany({ drafts });
  assert.deepEqual(outcomes.map((each) => each.kind), ["stored", "not_stored"]);
  await client.store({ content: "Redis was replaced by Valkey.", wait: true });
  const found = await client.graph.path({ start: "Dana Okafor", goal: "Valkey" });
  assert.ok(found.steps.length > 0);
  assert.equal((await client.curation.review()).memories > 1, true);
  assert.deepEqual((await client.curation.proposals()).proposals, []);
});

test("an error has its code and its hint, and never the key", async () => {
  await assert.rejects(client.get({ id: "zzzzzzzzzzzz" }), (error) => {
    assert.ok(error instanceof BearInMindError);
    assert.deepEqual([error.code, error.status], ["memory_not_found", 404]);
    assert.ok(error.hint);
    return true;
  });
  const stranger = new Client({ url: server.url, key: "bim_wrong", retries: 0 });
  await assert.rejects(stranger.stats(), (error) => {
    assert.equal(error.code, "not_authenticated");
    assert.ok(!`${error.message}${error.hint}`.includes("bim_wrong"));
    return true;
  });
  assert.throws(() => new Client({ url: "http://ada:secret@localhost" }), TypeError);
  assert.ok(!JSON.stringify(client).includes(server.key));
});

test("a store whose answers are lost is stored once", async () => {
  let sent = 0;
  const lossy = new Client({
    url: server.url,
    key: server.key,
    fetch: async (...args) => {
      const response = await fetch(...args);
      sent += 1;
      if (sent % 3) throw new TypeError("the connection broke");
      return response;
    },
  });
  const before = (await client.stats()).live;

  const stored = await lossy.store({ content: "The gate opens at six." });

  assert.equal(sent, 3);
  assert.equal((await client.stats()).live, before + 1);
  sent = 0;
  const { id, version } = stored.memory;
  const changed = await lossy.update({ id, importance: 0.7, expected_version: version });
  assert.deepEqual([changed.version, changed.importance], [2, 0.7]);
  sent = 0;
  assert.ok((await lossy.delete({ id, expected_version: 2 })).deleted_at);
});

test("what is safe is sent again, with one idempotency key", async () => {
  const busy = { status: 503, headers: { "Retry-After": "0.01" }, json: { code: "server_overloaded" } };
  const stub = await scripted(busy, { breaks: true }, { status: 500 }, { status: 201, json: { kind: "stored" } });
  const shy = new Client({ url: stub.url });

  assert.equal((await shy.store({ content: "x" })).kind, "stored");

  assert.equal(stub.requests.length, 4);
  assert.equal(new Set(stub.requests.map((each) => each.headers["idempotency-key"])).size, 1);
  await stub.stop();
});

test("what may have been done is not sent again, and what will not change neither", async () => {
  const stub = await scripted({ breaks: true }, { status: 507, json: { code: "store_full" } });
  const shy = new Client({ url: stub.url });

  await assert.rejects(shy.restore({ id: "k7f29qmxt4hd" }), { code: "server_unreachable" });
  await assert.rejects(shy.stats(), { code: "store_full" });

  assert.equal(stub.requests.length, 2);
  await stub.stop();
});

test("a redirect is not followed: the key is for the server that it was given for", async () => {
  const stub = await scripted({ status: 302, headers: { Location: "http://127.0.0.1:9/" } });

  await assert.rejects(new Client({ url: stub.url, key: "k" }).stats(), { code: "invalid_answer" });

  await stub.stop();
});

test("a server that is not there is told after the tries", async () => {
  const nobody = new Client({ url: "http://127.0.0.1:9", retries: 1 });

  await assert.rejects(nobody.stats(), { code: "server_unreachable" });
});
