// The stream of events. One EventSource carries what the frame and the page ask for; it opens again
// when that changes. It closes while the tab is hidden or the user paused, and after an error it
// opens again with a back-off of 1 to 30 s.
import { apiRoot, ask, loadSession } from "./api.js";
import { useEffect } from "./html.js";
import { live, opened, server } from "./live_state.js";
import { hasRole, session } from "./session.js";

const SILENCE = 12000;  // ms without an event: `server` comes each second
const LONGEST_WAIT = 30000;

const wishes = new Set();  // {topics, tubes, heard}
let source = null;
let address = null;
let failures = 0;
let retry = null;
let settle = null;

function wantedAddress() {
  const topics = new Set(["server", "notice"]);
  const tubes = new Set();
  for (const wish of wishes) {
    wish.topics.forEach((topic) => topics.add(topic));
    wish.tubes.forEach((ref) => tubes.add(ref));
  }
  if (!hasRole("operator")) ["audit", "operation"].forEach((topic) => topics.delete(topic));
  const query = new URLSearchParams({ topics: [...topics].sort().join(",") });
  if (tubes.size) query.set("tubes", [...tubes].sort().slice(0, 100).join(","));
  return new URL(`events?${query}`, apiRoot).href;
}

function close() {
  clearTimeout(retry);
  source?.close();
  source = null;
  address = null;
}

function heard(event) {
  const data = JSON.parse(event.data);
  if (event.type === "server") server.set(data);
  live.set({ state: "live", at: performance.now(), retryAt: null });
  for (const wish of [...wishes]) wish.heard(event.type, data);
}

function lose() {
  close();
  const wait = Math.min(LONGEST_WAIT, 1000 * 2 ** failures++);
  live.patch({ state: "lost", retryAt: performance.now() + wait });
  retry = setTimeout(connect, wait);
}

function open() {
  // The user may have signed out or paused meanwhile.
  if (!session.value.role || live.value.state === "paused") return close();
  const wanted = wantedAddress();
  if (wanted === address) return;
  close();
  address = wanted;
  source = new EventSource(wanted);
  source.onopen = () => {
    failures = 0;
    live.set({ state: "live", at: performance.now(), retryAt: null });
  };
  source.onerror = lose;
  for (const type of ["server", "tube", "operation", "audit", "notice"]) source.addEventListener(type, heard);
}

// Begins anew: asks who we are first, because a restarted broker has forgotten the session.
export async function connect() {
  clearTimeout(retry);
  if (live.value.state === "paused" || document.hidden) return;
  try {
    await loadSession();
    if (!session.value.role) return;
    server.set(await ask("GET", "server"));
  } catch {
    lose();
    return;
  }
  live.patch({ at: performance.now() });
  opened.set(opened.value + 1);
  open();
}

export function togglePause() {
  if (live.value.state === "paused") {
    live.patch({ state: "lost" });
    connect();
  } else {
    close();
    live.patch({ state: "paused", retryAt: null });
  }
}

// Hears events while the component is shown. `tubes` are refs. `heard(type, data)`.
export function useEvents(topics, tubes, hear) {
  const names = tubes.join(",");
  useEffect(() => {
    const wish = { topics, tubes, heard: hear };
    wishes.add(wish);
    clearTimeout(settle);
    settle = setTimeout(() => source && open(), 150);
    return () => wishes.delete(wish);
  }, [topics.join(","), names, hear]);
}

export function startLive() {
  document.addEventListener("visibilitychange", () => {
    if (live.value.state === "paused") return;
    if (document.hidden) close();
    else connect();
  });
  setInterval(() => {
    if (source && performance.now() - live.value.at > SILENCE) lose();
  }, 1000);
}
