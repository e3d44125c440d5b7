// Where in the page something is shown: addresses behind the #, so that each view can be linked.

/** The address of a view; what is empty is left out. */
export const place = (path, fields = {}) => {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    if (value !== null && value !== undefined && value !== "") parameters.set(name, value);
  }
  return `#/${path}${parameters.size ? `?${parameters}` : ""}`;
};

export const ofMemory = (id) => place(`memory/${encodeURIComponent(id)}`);
export const ofTag = (tag) => place("memories", { tags: tag });
export const ofCategory = (category) => place("memories", { category });

const decoded = (text) => {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // an address that somebody typed
  }
};

/** The parts and the fields that an address names. */
export const read = (hash) => {
  const [path, fields = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view, ...rest] = path.split("/");
  return { view, rest: decoded(rest.join("/")), fields: new URLSearchParams(fields) };
};

/** What a form says, by name. */
export const said = (form) => Object.fromEntries(new FormData(form));
