// Dialogs: the shell of all of them, and those that ask before an act.
import { closeDialog, dialog } from "../dialogs.js";
import { count as number } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { Name } from "./small.js";

export function DialogHost() {
  const open = useStore(dialog);
  return open && html`<${open.component} ...${open.props} />`;
}

// The focus moves to [data-first], else the first field. The page behind is inert, so Tab stays here.
export function Dialog({ title, onSubmit, testid = "dialog", children }) {
  const form = useRef(null);
  useEffect(() => {
    (form.current.querySelector("[data-first]") ?? form.current.querySelector("input, textarea, button"))?.focus();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    onSubmit?.();
  };
  return html`<div class="veil" onMouseDown=${(event) => event.target === event.currentTarget && closeDialog()}>
    <div role="dialog" aria-modal="true" aria-labelledby="dialog-title" data-testid=${testid}>
      <form class="dialog" ref=${form} onSubmit=${submit}><h2 id="dialog-title">${typeof title === "string" ? html`<${Name} text=${title} />` : title}</h2>${children}</form></div></div>`;
}

export function Ends({ ok, bad, disabled, cancel = closeDialog }) {
  return html`<div class="ends">
    <button type="button" class="btn" data-testid="confirm-cancel" onClick=${cancel}>${S.cancel}</button>
    <button type="submit" class=${`btn main${bad ? " bad" : ""}`} data-testid="confirm-ok" disabled=${disabled}>${ok}</button></div>`;
}

// The field that a destructive act on many jobs asks for. `set` hears whether the number is right.
export function TypedCount({ count, set }) {
  return html`<label>${S.typeCount(number(count))}<input data-testid="confirm-count" data-first inputmode="numeric"
    autocomplete="off" onInput=${(event) => set(event.target.value.replace(/[\s.,]/g, "") === String(count))} /></label>`;
}

// Asks once and runs. `run` resolves to whether it was done. With `count` above 1 the number must be typed.
export function Confirm({ title, text, ok, bad = true, count = 1, run }) {
  const [busy, setBusy] = useState(false);
  const [typed, setTyped] = useState(count <= 1);
  const submit = async () => {
    if (busy || !typed) return;
    setBusy(true);
    if (await run()) closeDialog();
    else setBusy(false);
  };
  return html`<${Dialog} title=${title} onSubmit=${submit}><p data-testid="dialog-text"><${Name} text=${text} /></p>
    ${count > 1 && html`<${TypedCount} count=${count} set=${setTyped} />`}
    <${Ends} ok=${ok} bad=${bad} disabled=${busy || !typed} /><//>`;
}
