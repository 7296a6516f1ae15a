// The keyboard. Rows are links: `j` and `k` move the focus, so Enter opens one without our help.
import { closeDialog, dialog, openDialog } from "./dialogs.js";
import { togglePause } from "./live.js";
import { Help } from "./parts/help.js";
import { toggleDense } from "./preferences.js";
import { go } from "./route.js";
import { toast } from "./toast.js";

export const PAGE_KEYS = { o: "#/", t: "#/tubes", r: "#/running", f: "#/failures", s: "#/jobs", c: "#/connections", v: "#/server", a: "#/audit" };

let afterG = false;
let lastRow = -1;

function rows() {
  return [...document.querySelectorAll("main [data-row]")];
}

function moveRow(step) {
  const all = rows();
  if (!all.length) return;
  const here = all.indexOf(document.activeElement?.closest("[data-row]"));
  const from = here >= 0 ? here : lastRow;
  lastRow = Math.max(0, Math.min(all.length - 1, from + step));
  const target = all[lastRow].querySelector("[data-open]") ?? all[lastRow];
  target.focus();
  target.scrollIntoView({ block: "nearest" });
}

const KEYS = {
  "?": () => openDialog(Help),
  "/": () => document.querySelector("main [data-filter]")?.focus(),
  j: () => moveRow(1),
  k: () => moveRow(-1),
  x: () => document.activeElement?.closest("[data-row]")?.querySelector("input[type=checkbox]")?.click(),
  p: togglePause,
  d: toggleDense,
};

function isField(target) {
  return target.isContentEditable || /^(TEXTAREA|SELECT)$/.test(target.tagName) ||
    (target.tagName === "INPUT" && target.type !== "checkbox");
}

// Closes the dialog, else leaves the field, else closes the result of the last act.
function escape(event) {
  if (dialog.value) closeDialog();
  else if (isField(event.target)) event.target.blur();
  else toast.set(null);
  event.preventDefault();  // a search field would lose its text
}

export function startKeys() {
  addEventListener("hashchange", () => { lastRow = -1; });
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (event.key === "Escape") return escape(event);
    if (isField(event.target) || dialog.value) return;
    const page = afterG && PAGE_KEYS[event.key];
    afterG = event.key === "g";
    if (page) go(page);
    else if (KEYS[event.key]) KEYS[event.key]();
    else return;
    event.preventDefault();
  });
}
