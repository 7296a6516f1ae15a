// Acts on one tube, from its page and from the rows of lists.
import { ask } from "../api.js";
import { closeDialog, openDialog } from "../dialogs.js";
import { count } from "../format.js";
import { html, useState } from "../html.js";
import { go } from "../route.js";
import { can } from "../session.js";
import * as S from "../strings.js";
import { act } from "../toast.js";
import { Confirm, Dialog, Ends } from "./dialog.js";
import { Field, Put, numberOf, wholeSecondsOf } from "./put.js";
import { Icon } from "./small.js";

const KICK_LIMIT = 1000000;  // of one request
const FOREVER = 4294967295;  // seconds: the longest pause

const pathOf = (tube) => `tubes/${tube.ref}`;

export const resume = (tube, done) =>
  act(() => ask("POST", `${pathOf(tube)}/resume`), S.tubeResumed(tube.name)).then(done);

// Kicks as many as the question says; those that come meanwhile stay.
export const kickBuried = (tube, done) => {
  const most = Math.min(tube.jobs.buried, KICK_LIMIT);
  openDialog(Confirm, { title: S.tubeKickAsk(count(most), tube.name), text: S.tubeKickText, ok: S.bulkOk.kick(count(most)), bad: false,
    run: () => act(() => ask("POST", `${pathOf(tube)}/kick`, { body: { count: most, state: "buried" } }),
      (answer) => S.tubeKicked(count(answer.kicked), tube.name)).then((ok) => {
      if (ok) done();
      return ok;
    }) });
};

export function Pause({ tube, done }) {
  const [seconds, setSeconds] = useState("300");
  const value = wholeSecondsOf(seconds);
  const valid = value >= 1 && value <= FOREVER;
  const submit = async () => {
    if (!valid) return;
    const ok = await act(() => ask("POST", `${pathOf(tube)}/pause`, { body: { seconds: value } }),
      S.tubePausedFor(tube.name, value === FOREVER ? null : value));
    if (!ok) return;
    closeDialog();
    done();
  };
  return html`<${Dialog} title=${S.tubePauseTitle(tube.name)} onSubmit=${submit}><p data-testid="dialog-text">${S.tubePauseText}</p>
    <${Field} label=${S.tubePauseSeconds} value=${seconds} set=${setSeconds} data-testid="pause-seconds" data-first />
    <div class="group">${S.tubePauses.map(([of, text]) => html`<button type="button" class="btn small" key=${of}
      aria-pressed=${String(seconds === String(of))} onClick=${() => setSeconds(String(of))}>${text}</button>`)}</div>
    <${Ends} ok=${S.tubePause} disabled=${!valid} /><//>`;
}

export function MaxQueue({ tube, done }) {
  const [all, setAll] = useState(tube.maxqueue.normal ? String(tube.maxqueue.normal) : "");
  const save = async (work) => {
    if (!await act(work, S.tubeLimited(tube.name))) return;
    closeDialog();
    done();
  };
  const path = `${pathOf(tube)}/maxqueue`;
  const value = numberOf(all);
  return html`<${Dialog} title=${S.tubeLimitTitle(tube.name)} onSubmit=${() => value >= 0 && save(() => ask("PUT", path, { body: { all: value } }))}>
    <p data-testid="dialog-text">${S.tubeLimitText}</p>
    <${Field} label=${S.tubeLimit} value=${all} set=${setAll} inputmode="numeric" data-first />
    <button type="button" class="btn small" onClick=${() => save(() => ask("DELETE", path))}>${S.tubeLimitDefault}</button>
    <${Ends} ok=${S.save} disabled=${!(value >= 0)} /><//>`;
}

export function askDrop(tube) {
  openDialog(Confirm, { title: S.tubeDropTitle(tube.name), text: S.tubeDropText, ok: S.tubeDrop,
    run: () => act(() => ask("DELETE", pathOf(tube)), () => {
      go("#/tubes");
      return S.tubeDropped(tube.name);
    }) });
}

// The small buttons at the end of a tube's row.
export function RowActs({ tube, done }) {
  const button = (name, icon, run) => html`<button type="button" class="btn small icon" title=${name}
    aria-label=${S.of(name, tube.name)} onClick=${run}><${Icon} name=${icon} /></button> `;
  return html`${can("job.put") && button(S.putTitle, "plus", () => openDialog(Put, { tube, done }))}
    ${can("tube.kick") && tube.jobs.buried > 0 && button(S.tubeKickAll, "kick", () => kickBuried(tube, done))}
    ${can("tube.pause") && !tube.paused && button(S.tubePause, "pause", () => openDialog(Pause, { tube, done }))}
    ${can("tube.resume") && tube.paused && button(S.tubeResume, "play", () => resume(tube, done))}`;
}
