// What the types must let through and must refuse; it is compiled, never run.
import { Client, type Memory } from "../dist/index.js";

const client = new Client({ url: "http://127.0.0.1:8377" });

export async function used(): Promise<Memory[]> {
  const stored = await client.store({ content: "x", category: "facts", importance: 0.5 });
  if (stored.kind === "already_known") return [stored.memory];
  const answer = await client.recall({ query: "x", limit: 3, as_of: "2026-01-01" });
  const verdict: "found" | "perhaps" | "nothing" = answer.verdict;
  await client.stats();
  await client.graph.neighbours({ concept: verdict });
  // @ts-expect-error: a query is required
  await client.recall({});
  // @ts-expect-error: there is no such link
  await client.link({ source: "a", kind: "likes", target: "b" });
  return answer.hits.map((hit) => hit.memory);
}
