// The address: #/PAGE/PARAMETER?QUERY. Filters live in it, so a link shows the same list.
import { Store } from "./store.js";

const PAGES = [
  [/^$/, "overview"],
  [/^tubes$/, "tubes"],
  [/^tubes\/([^/]+)$/, "tube"],
  [/^jobs$/, "search"],
  [/^jobs\/(\d{1,16})$/, "job"],
  [/^(connections|server|audit|running|failures|schedules|login)$/, null],
];

export function parse(hash) {
  const [path, text = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const query = Object.fromEntries(new URLSearchParams(text));
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path);
    if (found) return { page: page ?? found[1], param: page ? found[1] ?? null : null, query };
  }
  return { page: "missing", param: null, query };
}

// A ref is one part of a path. What a browser would resolve as "." or ".." gets its other form.
export function refOf(param) {
  let name = param;
  try {
    name = decodeURIComponent(param);
  } catch {
    // Not a percent-encoded name: the server says what is wrong.
  }
  return name === "." || name === ".." ? `~${btoa(name).replace(/=+$/, "")}` : param;
}

const NONE = ["group", "origin"];  // "" asks for the jobs without one

// What a query says, as an address has it.
export function wordsOf(query) {
  const words = new URLSearchParams();
  for (const [key, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && (value !== "" || NONE.includes(key))) words.set(key, value);
  }
  return words.toString();
}

export function link(path, query = {}) {
  const words = wordsOf(query);
  return `#/${path}${words ? `?${words}` : ""}`;
}

export const tubeLink = (ref, query) => link(`tubes/${ref}`, query);
export const jobLink = (id) => link(`jobs/${id}`);

export const route = new Store(parse(location.hash));

addEventListener("hashchange", () => route.set(parse(location.hash)));

export function go(address, { replace = false } = {}) {
  if (replace) {
    history.replaceState(null, "", address);
    route.set(parse(location.hash));
  } else {
    location.hash = address;
  }
}

// Changes some words of the query of this page; null removes one.
export function setQuery(changes, options) {
  const path = location.hash.replace(/^#?\/?/, "").split("?")[0];
  go(link(path, { ...route.value.query, ...changes }), options);
}

// What names a tube in a query or filter: its name, or the bytes of a name that is not UTF-8.
export function namedBy({ name, ref }) {
  return name.includes("\ufffd") && ref[0] === "~" ? { tube_base64: ref.slice(1).replaceAll("-", "+").replaceAll("_", "/") } : { tube: name };
}

// The ref of a name that was typed: percent-encoded, or `~` and base64url where proxies would rewrite it.
export function refOfName(name) {
  if (!name) return "";
  if (!/[/%\\\u0000-\u001f\u007f]|^~|^\.{1,2}$/.test(name)) return encodeURIComponent(name);
  const bytes = new TextEncoder().encode(name);
  return `~${btoa(String.fromCharCode(...bytes)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "")}`;
}
