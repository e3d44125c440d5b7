// From the fields of an address to what the server is asked.

import { asked, parts } from "./wording.js";

export const STATES = ["live", "superseded", "expired", "deleted"];
export const ALL = "all"; // of them

const states = (said) => (said === ALL ? STATES : parts(said));

/** Which memories are meant; only what was said. */
export const filter = (fields) => {
  const all = {
    categories: parts(fields.get("category")),
    tags: parts(fields.get("tags")),
    created_from: asked(fields.get("since")),
    created_to: asked(fields.get("until")),
    states: states(fields.get("state")),
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value?.length));
};

/** A question. */
export const question = (fields) => {
  const limit = fields.get("limit");
  return {
    query: fields.get("q") ?? "",
    ...filter(fields),
    ...(limit ? { limit: Number(limit) } : {}),
  };
};
