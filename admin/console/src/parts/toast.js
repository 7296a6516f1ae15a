import { html } from "../html.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { toast } from "../toast.js";
import { Icon, Name } from "./small.js";

// The live region is there before its text, so that screen readers read it out.
export function ToastHost() {
  const shown = useStore(toast);
  return html`<div class="toasts" role="status" aria-live="polite">${shown && html`
    <div class=${`toast${shown.bad ? " bad" : ""}`} data-testid="toast" data-kind=${shown.bad ? "bad" : "good"}>
      <div><${Name} text=${shown.text} />${shown.requestId && html`<small>${shown.code} · ${S.request(shown.requestId)}</small>`}</div>
      ${shown.href && html`<a class="btn small" href=${shown.href}>${S.look}</a>`}
      ${shown.bad && html`<button type="button" class="btn small icon" aria-label=${S.close} onClick=${() => toast.set(null)}><${Icon} name="close" /></button>`}</div>`}</div>`;
}
