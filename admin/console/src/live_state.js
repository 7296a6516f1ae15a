import { Store } from "./store.js";

// state: live, paused or lost. `at`: when the broker was last heard, by performance.now().
// `retryAt`: when the next try begins.
export const live = new Store({ state: "lost", at: null, retryAt: null });
// Counts streams that opened: pages ask again for what they show.
export const opened = new Store(0);
// The last server object.
export const server = new Store(null);
