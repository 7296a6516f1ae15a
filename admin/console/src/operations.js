// Acts over all jobs that match a filter: the server counts, the user confirms, the server works.
import { ask, newKey } from "./api.js";
import { Store } from "./store.js";
import * as S from "./strings.js";
import { tell, tellProblem } from "./toast.js";

const INTERVAL = 700;  // ms between questions

export const operations = new Store([]);

const followed = new Set();

export const isRunning = (operation) => ["counting", "running"].includes(operation.state);

export function merge(operation) {
  const rest = operations.value.filter((other) => other.id !== operation.id);
  operations.set([operation, ...rest].sort((a, b) => b.id - a.id).slice(0, 64));
}

export async function loadOperations() {
  const { items } = await ask("GET", "operations");
  operations.set([...items].sort((a, b) => b.id - a.id));
  items.filter((operation) => operation.state === "running").forEach(follow);
}

const pause = () => new Promise((resolve) => setTimeout(resolve, INTERVAL));

// Resolves when the operation left `state`.
async function outlive(operation, state, signal) {
  while (operation.state === state && !signal?.aborted) {
    await pause();
    operation = await ask("GET", `operations/${operation.id}`);
    merge(operation);
  }
  return operation;
}

// Resolves with the counted operation.
export async function begin(action, filter, to, signal) {
  const body = { action, filter };
  if (to) body.to = to;
  const operation = await ask("POST", "operations", { body, key: newKey() });
  merge(operation);
  return outlive(operation, "counting", signal);
}

export async function confirm(operation) {
  const running = await ask("POST", `operations/${operation.id}/confirm`, { body: { count: operation.count } });
  merge(running);
  follow(running);
}

export async function stop(operation) {
  merge(await ask("DELETE", `operations/${operation.id}`));
}

// Watches a running operation to its end and tells the result.
export async function follow(operation) {
  if (followed.has(operation.id)) return;
  followed.add(operation.id);
  try {
    const ended = await outlive(operation, "running");
    const text = S.operationEnded(ended);
    if (ended.state === "done") tell(text);
    else tellProblem({ message: text, detail: ended.problem?.detail ?? text });
  } catch (problem) {
    tellProblem(problem);
  } finally {
    followed.delete(operation.id);
  }
}
