// One job: what it is, what happened to it, its body, and the acts that its state allows.
import { apiRoot, ask, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { bytes, count, duration, instant } from "../format.js";
import { html, useEffect } from "../html.js";
import { Body, textOf } from "../parts/body.js";
import { Confirm } from "../parts/dialog.js";
import { Page } from "../parts/page.js";
import { CopyJob, MoveJob, Put } from "../parts/put.js";
import { Icon, Loading, Meter, Name, Record, State, Trouble } from "../parts/small.js";
import { go, link, tubeLink } from "../route.js";
import { can, hasBodies } from "../session.js";
import * as S from "../strings.js";
import { act } from "../toast.js";

const EVERY = 5;  // seconds

function post(job, verb, body, text, done) {
  return act(() => ask("POST", `jobs/${job.id}/${verb}`, { body }), text).then((ok) => ok && done() || ok);
}

function askDelete(job, asked) {
  const held = job.state === "reserved";
  openDialog(Confirm, { title: S.jobDeleteTitle(job.id), ok: S.jobDeleteOk,
    text: S.jobDeleteText(S.states[job.state], job.tube, bytes(job.size_bytes), held && S.client(job.holder ?? {})),
    run: async () => {
      asked.stop();
      const ok = await act(() => ask("DELETE", `jobs/${job.id}${held ? "?force=true" : ""}`), () => {
        go("#/tubes");  // its tube may have gone with it
        return S.jobDeleted(job.id);
      });
      if (!ok) asked.reload();
      return ok;
    } });
}

// Taking a job from who holds it asks first; all else of these can be undone.
function askTake(job, verb, body, done) {
  openDialog(Confirm, { title: S.jobTakeTitle[verb](job.id), text: S.jobTakeText(S.client(job.holder ?? {})), ok: S.jobTake[verb],
    run: () => act(() => ask("POST", `jobs/${job.id}/${verb}`, { body }), S.jobDone[verb](job.id)).then((ok) => {
      if (ok) done();
      return ok;
    }) });
}

async function putAgain(job) {
  let body = null;
  const ok = await act(async () => {
    body = textOf(await ask("GET", `jobs/${job.id}/body/view?as=text&limit=262144`));
  });
  if (!ok) return;
  if (body === null) openDialog(CopyJob, { job });
  else openDialog(Put, { tube: { name: job.tube, ref: job.tube_ref }, again: { body, priority: job.priority, ttr_seconds: job.ttr_seconds } });
}

function Acts({ job, asked }) {
  const done = asked.reload;
  const held = job.state === "reserved";
  const button = (testid, icon, text, run, style = "") => html`<button type="button" class=${`btn ${style}`} data-testid=${testid} onClick=${run}>
    ${icon && html`<${Icon} name=${icon} />`}${text}</button>`;
  const dead = job.origin && job.state === "buried";  // a kick sends it home
  return html`${can("job.kick") && ["buried", "delayed"].includes(job.state) && button(dead ? "job-home" : "job-kick", "kick",
      dead ? S.jobHome : S.jobKick, () => post(job, "kick", {}, dead ? S.moveDone(job.id, job.origin) : S.jobDone.kick(job.id), done), "main")}
    ${can("job.release") && held && button("job-release", "kick", S.jobRelease, () => askTake(job, "release", {}, done))}
    ${can("job.bury") && job.state !== "buried" && button("job-bury", null, S.jobBury, () => (held
      ? askTake(job, "bury", { force: true }, done) : post(job, "bury", {}, S.jobDone.bury(job.id), done)))}
    ${can("job.put") && hasBodies() && button("job-again", null, S.jobAgain, () => putAgain(job))}
    ${can("job.copy") && button("job-copy", null, S.jobCopy, () => openDialog(CopyJob, { job }))}
    ${can("job.move") && !held && button("job-move", null, S.jobMove, () => openDialog(MoveJob, { job, done }))}
    ${can("job.delete") && button("job-delete", null, S.jobDelete, () => askDelete(job, asked), "bad")}`;
}

function Holder({ job }) {
  if (!job.holder) return null;
  const { connection } = job.holder;
  return html`<section class="panel"><header><h2>${S.jobHolder}</h2><span class="grow"></span><span class="reserved">${job.ttr_left_seconds === null ? S.jobsNoEnd : S.jobsLeft(duration(job.ttr_left_seconds))}</span></header>
    <div class="pad"><a data-testid="holder" href=${link("connections", { id: connection })}><${Name} text=${S.client(job.holder)} /></a>
    ${job.progress && html`<${Meter} share=${job.progress.numerator / job.progress.denominator} />`}</div></section>`;
}

function Facts({ job }) {
  const due = job.due_in_seconds === null ? null : [S.jobDue, S.jobDueIn(duration(job.due_in_seconds))];
  const optional = [["attempts", job.attempts === undefined || job.attempts === null ? null : S.jobAttempts(job.attempts, job.max_attempts)],
    ["expires", job.expires_in_seconds == null ? null : S.jobDueIn(duration(job.expires_in_seconds))],
    ["cause", job.cause ? html`${job.cause} ${job.cause_text && html`<${Name} text=${job.cause_text} class="name dim" />`}` : null],
    ["origin", job.origin ? html`<${Name} text=${job.origin} class="name mono" />` : null]];
  return html`<section class="panel"><header><h2>${S.jobRecord}</h2></header><${Record} rows=${[
    [S.jobTube, html`<a class="mono" href=${tubeLink(job.tube_ref, { state: job.state })}><${Name} text=${job.tube} /></a>`],
    [S.jobPut, html`${S.ago(duration(job.age_seconds))}<br /><span class="dim">${instant(job.created_at)}</span>`],
    [S.jobPriority, html`${job.priority} <span class="dim">${S.classes[job.class] ?? job.class}</span>`],
    [S.jobTtr, job.ttr_seconds === null ? S.none : duration(job.ttr_seconds)], [S.jobDelay, duration(job.delay_seconds)], due,
    [S.jobUnique, job.unique ? html`<${Name} text=${job.unique} class="name mono" />` : S.none], [S.jobWaiters, count(job.waiters)],
    [S.jobOnFailure, S.jobFailures[job.on_failure] ?? job.on_failure], [S.jobDurable, job.durable ? S.yes : S.no],
    ...optional.map(([name, value]) => value !== null && [S.jobOptional[name], value])]} /></section>`;
}

function Past({ job }) {
  return html`<section class="panel"><header><h2>${S.jobPast}</h2></header><${Record} rows=${
    ["reserves", "timeouts", "releases", "buries", "kicks", "lost_tries"].map((name) => [S.jobCounts[name], count(job[name])])} /></section>`;
}

export function Job({ param }) {
  const asked = useAsk(`jobs/${param}`, { every: EVERY });
  const { data: job, problem, reload } = asked;
  const bodies = hasBodies();
  useEffect(() => {
    if (problem?.status === 404) document.querySelector("main")?.focus();
  }, [problem]);
  const frame = { name: "job", title: S.jobTitle(param), api: `jobs/${param}`, ctl: `${bodies ? "peek" : "job"} ${param}`,
    crumbs: job ? [[S.nav.tubes, "#/tubes"], [job.tube, tubeLink(job.tube_ref)], [param]] : [[S.jobTitle(param)]] };
  if (!job || problem?.status === 404) {
    return html`<${Page} ...${frame}>${problem ? html`<${Trouble} problem=${problem.status === 404 ? { detail: S.jobGone(param) } : problem} reload=${reload} />` : html`<${Loading} />`}<//>`;
  }
  return html`<${Page} ...${frame}><div class="head"><h1>${S.jobJob} <span class="mono" data-testid="job-id">${job.id}</span></h1>
      <${State} state=${job.state} data-testid="job-state" /><span class="grow"></span><${Acts} job=${job} asked=${asked} /></div>
    <div class="wide"><${Body} job=${job} raw=${new URL(`jobs/${job.id}/body`, apiRoot).href} />
      <div class="stack"><${Holder} job=${job} /><${Facts} job=${job} /><${Past} job=${job} /></div></div><//>`;
}
