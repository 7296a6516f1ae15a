// Acts on many jobs: those that are selected, one by one, or all that match, as an operation.
import { ask, newKey } from "../api.js";
import { closeDialog } from "../dialogs.js";
import { count } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { begin, confirm } from "../operations.js";
import * as S from "../strings.js";
import { act, tell, tellProblem } from "../toast.js";
import { Dialog, Ends, TypedCount } from "./dialog.js";
import { Field } from "./put.js";
import { Name } from "./small.js";

const AT_ONCE = 4;

function requestOf(action, job, to) {
  const force = job.state === "reserved";
  if (action === "delete") return ["DELETE", `jobs/${job.id}${force ? "?force=true" : ""}`, {}];
  const body = action === "bury" && force ? { force: true } : to ? { to } : {};
  return ["POST", `jobs/${job.id}/${action}`, { body, key: newKey() }];
}

// Acts on each of the jobs and tells how many were done. Resolves to that number.
export async function actOnEach(action, jobs, to) {
  const rest = [...jobs];
  let done = 0;
  let problem = null;
  const work = async () => {
    for (let job = rest.shift(); job; job = rest.shift()) {
      try {
        await ask(...requestOf(action, job, to));
        ++done;
      } catch (error) {
        problem = error;
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const text = S.bulkDone[action](count(done), to);
  if (problem) tellProblem({ ...problem, detail: S.bulkPartly(text, count(jobs.length - done), problem.detail) });
  else tell(text);
  return done;
}

function Target({ action, to, setTo, proceed }) {
  const optional = action === "copy";
  return html`<${Dialog} title=${S.bulkTargetTitle[action]} onSubmit=${() => (to || optional) && proceed()}>
    <p data-testid="dialog-text" class="dim">${S.bulkTargetText[action]}</p>
    <${Field} label=${S.bulkTarget[action]} value=${to} set=${setTo} data-testid="move-to" data-first />
    <${Ends} ok=${S.next} disabled=${!to && !optional} /><//>`;
}

function Final({ action, total, where, to, upTo, run, cancel }) {
  const [busy, setBusy] = useState(false);
  const destructive = action === "delete";
  const [typed, setTyped] = useState(!destructive || total <= 1);
  const submit = async () => {
    if (busy || !typed || !total) return;
    setBusy(true);
    if (await run()) closeDialog();
    else setBusy(false);
  };
  if (!total) {
    return html`<${Dialog} title=${S.bulkNoneTitle} onSubmit=${cancel}><p data-testid="dialog-text">${S.bulkNone}</p>
      <${Ends} ok=${S.close} cancel=${cancel} /><//>`;
  }
  return html`<${Dialog} key="final" title=${S.bulkTitle[action](count(total), to)} onSubmit=${submit}>
    <p data-testid="dialog-text">${S.bulkOk[action](count(total))}. <${Name} text=${where} /> ${upTo && S.bulkUpTo(upTo)} ${S.bulkWarning[action]}</p>
    ${destructive && total > 1 && html`<${TypedCount} count=${total} set=${setTyped} />`}
    <${Ends} ok=${S.bulkOk[action](count(total))} bad=${destructive} disabled=${busy || !typed} cancel=${cancel} /><//>`;
}

// Selected jobs: asks for the target where the act needs one, then for consent.
export function BulkSelected({ action, jobs, where, done }) {
  const [to, setTo] = useState("");
  const targeted = action === "move" || action === "copy";
  const run = async () => {
    const any = await actOnEach(action, jobs, to) > 0;
    if (any) done();
    return any;
  };
  if (targeted) {
    const proceed = () => run().then((ok) => ok && closeDialog());
    return html`<${Target} action=${action} to=${to} setTo=${setTo} proceed=${proceed} />`;
  }
  return html`<${Final} action=${action} total=${jobs.length} where=${where} to=${to} run=${run} cancel=${closeDialog} />`;
}

// All that match: the server counts first, and acts on no more than the number that was confirmed.
export function BulkMatching({ action, filter, where, done }) {
  const [to, setTo] = useState("");
  const [asked, setAsked] = useState(!["move", "copy"].includes(action));
  const [operation, setOperation] = useState(null);
  const counting = useRef(null);
  useEffect(() => {
    if (!asked) return undefined;
    counting.current = new AbortController();
    begin(action, filter, to, counting.current.signal)
      .then(setOperation, (problem) => {
        tellProblem(problem);
        closeDialog();
      });
    return () => counting.current.abort();
  }, [asked]);
  const cancel = () => {
    if (operation) ask("DELETE", `operations/${operation.id}`).catch(() => {});  // expires by itself, too
    closeDialog();
  };
  const run = async () => {
    const ok = await act(() => confirm(operation));
    if (ok) done();
    return ok;
  };
  if (!asked) return html`<${Target} action=${action} to=${to} setTo=${setTo} proceed=${() => setAsked(true)} />`;
  if (!operation) {
    return html`<${Dialog} key="counting" title=${S.bulkCounting}><p aria-busy="true"><${Name} text=${where} /></p>
      <div class="ends"><button type="button" class="btn" data-testid="confirm-cancel" onClick=${closeDialog}>${S.cancel}</button></div><//>`;
  }
  return html`<${Final} action=${action} total=${operation.count} where=${where} to=${to} upTo=${operation.as_of_id}
    run=${run} cancel=${cancel} />`;
}
