// A value that components share. `set` replaces it and tells all who subscribed.
import { useLayoutEffect, useState } from "./html.js";

export class Store {
  #subscribers = new Set();

  constructor(value) {
    this.value = value;
  }

  set(value) {
    if (value === this.value) return;
    this.value = value;
    for (const tell of [...this.#subscribers]) tell(value);
  }

  patch(changes) {
    this.set({ ...this.value, ...changes });
  }

  // Returns what ends the subscription.
  subscribe(tell) {
    this.#subscribers.add(tell);
    return () => this.#subscribers.delete(tell);
  }
}

export function useStore(store) {
  const [value, set] = useState(store.value);
  useLayoutEffect(() => {
    set(store.value);
    return store.subscribe(set);
  }, [store]);
  return value;
}
