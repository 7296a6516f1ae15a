// Requests to /api/v1, relative to the page, so that any prefix of a proxy works.
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { live, opened } from "./live_state.js";
import { wordsOf } from "./route.js";
import { session } from "./session.js";
import { useStore } from "./store.js";
import * as S from "./strings.js";

export const apiRoot = new URL("../api/v1/", document.baseURI);

// A problem document (RFC 9457) of the server, or one of ours when there is no answer.
export class Problem extends Error {
  constructor(document) {
    super(document.detail || document.title || document.code);
    this.code = document.code;
    this.status = document.status ?? 0;
    this.detail = document.detail || document.title || "";
    this.requestId = document.request_id ?? null;
    this.document = document;
  }
}

export function pathWith(path, query = {}) {
  const words = wordsOf(query);
  return words ? `${path}?${words}` : path;
}

// The name of one act: a repeated request with the same key gets the first answer again.
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

async function problemOf(response) {
  try {
    const document = await response.json();
    if (document && document.code) return new Problem(document);
  } catch {
    // The answer is not ours: a proxy's page, or cut off.
  }
  return new Problem({ code: "unreadable", status: response.status, detail: S.problemUnreadable(response.status) });
}

export async function ask(method, path, { body, key, signal } = {}) {
  const headers = { Accept: "application/json" };
  if (method === "POST" || method === "PUT") headers["Content-Type"] = "application/json";
  if (key) headers["Idempotency-Key"] = key;
  let response;
  try {
    response = await fetch(new URL(path, apiRoot), {
      method, headers, signal, credentials: "same-origin", cache: "no-store",
      body: headers["Content-Type"] ? JSON.stringify(body ?? {}) : undefined,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem({ code: "unreachable", detail: S.problemUnreachable });
  }
  if (!response.ok) {
    const problem = await problemOf(response);
    if (problem.status === 401 && path !== "session") loadSession();
    throw problem;
  }
  return response.status === 204 ? null : response.json();
}

export async function loadSession() {
  session.set({ paths: session.value?.paths, ...await ask("GET", "session") });
}

// The paths that this server has: parts of the console without theirs stay away.
export async function loadPaths() {
  const { paths } = await ask("GET", "");
  session.patch({ paths });
}

// GET of a path, asked again after a lost connection and, while live, every `every` seconds.
// Keeps the last data while it asks. A null path asks nothing, and neither does a page that was left.
// After `stop` only `reload` asks for this path again, not even a reopened event stream does: for
// who deletes what is asked for.
export function useAsk(path, { every = 0 } = {}) {
  const [state, set] = useState({ path: null, data: null, problem: null });
  const running = useRef(null);
  const stopped = useRef(null);  // a path
  const left = useRef(false);
  const again = useStore(opened);
  const moves = useStore(live).state === "live";

  const askNow = useCallback(async () => {
    if (path === null || left.current || stopped.current === path) return;
    running.current?.abort();
    const mine = (running.current = new AbortController());
    try {
      const data = await ask("GET", path, { signal: mine.signal });
      if (!mine.signal.aborted) set({ path, data, problem: null });
    } catch (problem) {
      if (!mine.signal.aborted) set((old) => ({ path, data: old.path === path ? old.data : null, problem }));
    }
  }, [path]);
  const reload = useCallback(() => {
    if (stopped.current === path) stopped.current = null;
    return askNow();
  }, [path, askNow]);
  const stop = useCallback(() => {
    stopped.current = path;
    running.current?.abort();
  }, [path]);

  useEffect(() => {
    left.current = false;
    return () => { left.current = true; };
  }, []);
  useEffect(() => {
    askNow();
    return () => running.current?.abort();
  }, [askNow, again]);
  const gone = state.problem?.status === 404;  // it does not come back by itself
  useEffect(() => {
    if (!every || !moves || gone) return undefined;
    const timer = setInterval(askNow, every * 1000);
    return () => clearInterval(timer);
  }, [every, moves, gone, askNow]);

  const fresh = state.path === path;
  return { data: fresh ? state.data : null, problem: fresh ? state.problem : null, reload, stop };
}
