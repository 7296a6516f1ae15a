// Who looks, and what they may do: GET /session. Null until the first answer.
import { Store } from "./store.js";

export const session = new Store(null);

export function can(action) {
  return Boolean(session.value?.can?.includes(action));
}

export function hasBodies() {
  return Boolean(session.value?.bodies);
}

const RANKS = ["viewer", "operator", "admin"];

export function hasRole(role) {
  return RANKS.indexOf(session.value?.role) >= RANKS.indexOf(role);
}

// Whether all tubes are theirs to see: what concerns the whole server is for them alone.
export function seesAll() {
  return Boolean(session.value?.tubes?.includes("*"));
}

// Whether the server has a path, as GET / names it: "/schedules".
export function hasPath(path) {
  return Boolean(session.value?.paths?.some((known) => String(known.path ?? known).endsWith(path)));
}
