// Dialogs that make jobs or tubes: put, put again, copy, create.
import { ask, newKey } from "../api.js";
import { closeDialog } from "../dialogs.js";
import { secondsOf } from "../format.js";
import { html, useState } from "../html.js";
import { go, jobLink, refOfName, tubeLink } from "../route.js";
import * as S from "../strings.js";
import { act } from "../toast.js";
import { Dialog, Ends } from "./dialog.js";
import { Name } from "./small.js";

export function numberOf(text) {
  return /^\d+$/.test(text.trim()) ? Number(text) : NaN;
}

// Whole seconds: the API knows no others.
export const wholeSecondsOf = (text) => (Number.isInteger(secondsOf(text)) ? secondsOf(text) : NaN);

export function Field({ label, value, set, ...rest }) {
  return html`<label>${label}<input value=${value} onInput=${(event) => set(event.target.value)} autocomplete="off" ...${rest} /></label>`;
}

function useFields(initial) {
  const [fields, set] = useState(initial);
  return [fields, (name) => (value) => set((old) => ({ ...old, [name]: value }))];
}

const NUMBERS = [["priority", "priority"], ["delay", "delay_seconds"], ["ttr", "ttr_seconds"]];

// The numbers that were given, by their names in the API; null if one is no number.
function givenNumbers(fields) {
  const given = {};
  for (const [field, name] of NUMBERS) {
    if (fields[field] === undefined || fields[field].trim() === "") continue;
    given[name] = (field === "priority" ? numberOf : wholeSecondsOf)(fields[field]);
    if (Number.isNaN(given[name])) return null;
  }
  return given;
}

function NumberFields({ fields, set }) {
  return html`<div class="row">${NUMBERS.map(([name]) => html`<${Field} key=${name} label=${S.putNumbers[name]}
    value=${fields[name]} set=${set(name)} data-testid=${`put-${name}`} />`)}</div>`;
}

// `tube`: {name, ref}, or null to ask for it. `again`: a job's fields to begin with.
export function Put({ tube = null, again = {}, done = () => {} }) {
  const [fields, set] = useFields({ tube: "", body: again.body ?? "", priority: String(again.priority ?? 65536),
    delay: "0", ttr: String(again.ttr_seconds ?? 60), unique: "" });
  const [key] = useState(newKey);
  const [busy, setBusy] = useState(false);
  const numbers = givenNumbers(fields);
  const ref = tube?.ref ?? refOfName(fields.tube);
  const submit = async () => {
    if (busy || !numbers || !ref) return;
    setBusy(true);
    const ok = await act(() => ask("POST", `tubes/${ref}/jobs`, { body: { body: fields.body, unique: fields.unique || null, ...numbers }, key }),
      (job) => ({ text: S.putDone(job.id, job.tube), href: jobLink(job.id) }));
    setBusy(false);
    if (!ok) return;
    closeDialog();
    done();
  };
  const title = tube ? html`${S.putInto} <${Name} text=${tube.name} class="name mono" />` : S.putTitle;
  return html`<${Dialog} title=${title} onSubmit=${submit}>
    ${!tube && html`<${Field} label=${S.putTube} value=${fields.tube} set=${set("tube")} data-testid="put-tube" />`}
    <label>${S.putBody}<textarea rows="6" data-testid="put-body" value=${fields.body} spellcheck="false"
      onInput=${(event) => set("body")(event.target.value)}></textarea></label>
    <${NumberFields} fields=${fields} set=${set} />
    <${Field} label=${S.putUnique} value=${fields.unique} set=${set("unique")} data-testid="put-unique" />
    <${Ends} ok=${S.putOk} disabled=${busy || !numbers || !ref} /><//>`;
}

// Copies one job, with other numbers or into another tube where these are given.
export function CopyJob({ job }) {
  const [fields, set] = useFields({ to: "", priority: "", delay: "", ttr: "" });
  const [key] = useState(newKey);
  const numbers = givenNumbers(fields);
  const submit = async () => {
    if (!numbers) return;
    const body = { ...numbers, ...(fields.to && { to: fields.to }) };
    const ok = await act(() => ask("POST", `jobs/${job.id}/copy`, { body, key }),
      (copy) => ({ text: S.copyDone(copy.id, copy.tube), href: jobLink(copy.id) }));
    if (ok) closeDialog();
  };
  return html`<${Dialog} title=${S.copyTitle(job.id)} onSubmit=${submit}><p data-testid="dialog-text" class="dim">${S.copyText}</p>
    <${Field} label=${S.copyTo} value=${fields.to} set=${set("to")} data-testid="move-to" data-first />
    <${NumberFields} fields=${fields} set=${set} /><${Ends} ok=${S.copyOk} disabled=${!numbers} /><//>`;
}

export function MoveJob({ job, done }) {
  const [to, setTo] = useState("");
  const submit = async () => {
    const ok = to && await act(() => ask("POST", `jobs/${job.id}/move`, { body: { to } }),
      (moved) => S.moveDone(moved.id, moved.tube));
    if (!ok) return;
    closeDialog();
    done();
  };
  return html`<${Dialog} title=${S.moveTitle(job.id)} onSubmit=${submit}><p data-testid="dialog-text" class="dim">${S.moveText}</p>
    <${Field} label=${S.moveTo} value=${to} set=${setTo} data-testid="move-to" data-first />
    <${Ends} ok=${S.moveOk} disabled=${!to} /><//>`;
}

export function CreateTube() {
  const [name, setName] = useState("");
  const submit = async () => {
    const ok = name && await act(() => ask("POST", "tubes", { body: { name } }), (tube) => {
      go(tubeLink(tube.ref));
      return S.createDone(tube.name);
    });
    if (ok) closeDialog();
  };
  return html`<${Dialog} title=${S.createTitle} onSubmit=${submit}><p data-testid="dialog-text" class="dim">${S.createText}</p>
    <${Field} label=${S.createName} value=${name} set=${setName} data-first /><${Ends} ok=${S.createOk} disabled=${!name} /><//>`;
}
