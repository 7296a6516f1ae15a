// One page of jobs, walked: the server ends a page early when its step budget is used up, and the
// walk asks on until the page is full, the jobs are at an end, or the user stops it.
import { ask, pathWith } from "./api.js";
import { useCallback, useEffect, useRef, useState } from "./html.js";
import { opened } from "./live_state.js";
import { useStore } from "./store.js";

const BEFORE = { items: null, scanned: 0, count: null, next: null, running: false, stopped: false, problem: null };

// `path` and `query` of the list; a null path asks nothing.
export function useWalk(path, query, limit) {
  const [state, set] = useState({ ...BEFORE, key: null });
  const running = useRef(null);
  const again = useStore(opened);
  const key = path && pathWith(path, query);

  const start = useCallback(async () => {
    running.current?.abort();
    if (!path) return;
    const mine = (running.current = new AbortController());
    const put = (changes) => !mine.signal.aborted && set((old) => ({ ...(old.key === key ? old : BEFORE), key, ...changes }));
    put({ running: true, problem: null, stopped: false });
    let [items, scanned, cursor] = [[], 0, query.cursor ?? null];
    try {
      do {
        const page = await ask("GET", pathWith(path, { ...query, limit: limit - items.length, cursor }), { signal: mine.signal });
        items = items.concat(page.items);
        scanned += page.scanned;
        cursor = page.next;
        put({ items, scanned, count: page.count, next: cursor, asOf: page.as_of_id });
      } while (cursor && items.length < limit);
      put({ running: false });
    } catch (problem) {
      put({ running: false, problem });
    }
  }, [key, limit]);

  useEffect(() => {
    start();
    return () => running.current?.abort();
  }, [start, again]);

  const stop = () => {
    running.current?.abort();
    set((old) => ({ ...old, running: false, stopped: true }));
  };
  return { ...(state.key === key ? state : BEFORE), start, stop };
}
