// Theme and density, kept in this browser.
import { Store } from "./store.js";

function kept(name) {
  try {
    return localStorage.getItem(`gearstalk.${name}`);
  } catch {
    return null;  // storage is forbidden: the system's choice stays
  }
}

function keep(name, value) {
  try {
    localStorage.setItem(`gearstalk.${name}`, value);
  } catch {
    // As above.
  }
}

const system = matchMedia("(prefers-color-scheme: dark)");
const ofSystem = () => (system.matches ? "dark" : "light");

export const theme = new Store(kept("theme") ?? ofSystem());
export const dense = new Store(kept("dense") === "true");

export function toggleTheme() {
  theme.set(theme.value === "dark" ? "light" : "dark");
  keep("theme", theme.value);
}

export function toggleDense() {
  dense.set(!dense.value);
  keep("dense", String(dense.value));
}

export function applyPreferences() {
  const root = document.documentElement;
  const apply = () => {
    root.dataset.theme = theme.value;
    root.toggleAttribute("data-dense", dense.value);
  };
  theme.subscribe(apply);
  dense.subscribe(apply);
  system.addEventListener("change", () => kept("theme") ?? theme.set(ofSystem()));
  apply();
}
