// The result of the last act: {text, bad, requestId, page}. Read out by the live region of the frame.
import { Store } from "./store.js";
import * as S from "./strings.js";

const SHOWN = { good: 8000, bad: 20000 };  // ms

export const toast = new Store(null);
let timer = null;

const here = () => location.hash.split("?")[0];

// It goes with the page that it was told on.
addEventListener("hashchange", () => toast.value?.page !== here() && toast.set(null));

function show(value) {
  clearTimeout(timer);
  toast.set({ ...value, page: here() });
  timer = setTimeout(() => toast.set(null), value.bad ? SHOWN.bad : SHOWN.good);
}

// `href`: where the result can be seen.
export const tell = (text, href = null) => show({ text, href, bad: false });

export function tellProblem(problem) {
  if (problem.name === "AbortError") return;
  show({ text: problem.detail || problem.message, bad: true, code: problem.code,
    requestId: problem.requestId });
}

// Runs an act and tells its result. `done`: a text, {text, href}, or what makes one of the answer.
// Resolves to whether it was done.
export async function act(work, done) {
  try {
    const answer = await work();
    const result = typeof done === "function" ? done(answer) : done;
    if (result) tell(result.text ?? result, result.href);
    return true;
  } catch (problem) {
    tellProblem(problem);
    return false;
  }
}

export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Without a secure context the clipboard takes what is selected in a field.
    const field = document.createElement("textarea");
    field.value = text;
    field.className = "sr";
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  tell(S.copied);
}
