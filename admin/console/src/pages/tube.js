// One tube: its jobs by state, filtered and acted on; its history, numbers and settings.
import { pathWith, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { describe, flagsOf, isFiltered, membersOf, parametersOf, readsBodies, cleared } from "../filters.js";
import { STATES, count, duration, rate, shellWord } from "../format.js";
import { html, useCallback, useEffect, useMemo, useRef, useState } from "../html.js";
import { useEvents } from "../live.js";
import { live } from "../live_state.js";
import { BulkMatching } from "../parts/bulk.js";
import { Filter } from "../parts/filter.js";
import { Groups, groupsOrder } from "../parts/groups.js";
import { JobsChart, useHistory } from "../parts/history.js";
import { JobList, useJobs } from "../parts/job_list.js";
import { Page } from "../parts/page.js";
import { Policy } from "../parts/policy.js";
import { Put } from "../parts/put.js";
import { Choice, Empty, Icon, Loading, Name, Num, Record, Trouble, useInSight } from "../parts/small.js";
import { MaxQueue, Pause, askDrop, kickBuried, resume } from "../parts/tube_acts.js";
import { Paused } from "../parts/tube_table.js";
import { Rates } from "../rates.js";
import { jobLink, link, namedBy, refOf, setQuery, tubeLink } from "../route.js";
import { can, hasBodies } from "../session.js";
import * as S from "../strings.js";

const QUIET = 2000;  // ms between two lists that events ask for
const EVERY = 10;    // seconds

const NOBODY = { ready: 0, reserved: 0, delayed: 0, buried: 0, urgent: 0 };

// The tube, replaced by each event about it. A tube without jobs and clients goes away; its page
// stays, and asks again when an event says that the tube is back.
function useTube(ref, changed) {
  const [fresh, setFresh] = useState(null);  // of the last event
  const known = useRef(null);
  const asked = useAsk(fresh?.gone ? null : `tubes/${ref}`, { every: EVERY });
  known.current = asked.data ?? known.current;
  useEffect(() => setFresh((old) => (old?.gone ? old : null)), [asked.data]);
  const hear = useCallback((type, tube) => {
    if (type !== "tube" || (tube.ref !== ref && tube.ref !== known.current?.ref)) return;  // a name has two forms
    setFresh(tube);
    changed();
  }, [ref, changed]);
  useEvents(["tube"], [ref], hear);
  const gone = fresh?.gone && known.current;
  const tube = gone ? { ...known.current, jobs: NOBODY, workers: 0, watching: 0, using: 0, waiting: 0 } : fresh?.gone ? null : fresh ?? asked.data ?? known.current;
  return { ...asked, tube, gone, missing: fresh?.gone || asked.problem?.status === 404 };
}

// Calls at once, then at most each QUIET ms, the last version of a function.
function useSparingly(run) {
  const latest = useRef(run);
  const timer = useRef(null);
  latest.current = run;
  useEffect(() => () => clearTimeout(timer.current), []);
  return useCallback(() => {
    timer.current ??= setTimeout(() => {
      timer.current = null;
      latest.current();
    }, QUIET);
  }, []);
}

function Head({ tube, filter, done }) {
  const button = (testid, icon, text, run, bad) => html`<button type="button" class=${`btn${bad ? " bad" : ""}`} data-testid=${testid} onClick=${run}>
    ${icon && html`<${Icon} name=${icon} />`}${text}</button>`;
  const clear = () => openDialog(BulkMatching, { action: "delete", filter, where: S.tubeClearWhere(tube.name), done });
  return html`<div class="head"><h1 class="mono" data-testid="tube-name"><${Name} text=${tube.name} /></h1>
    <span class=${`tag${tube.jobs.ready && !tube.workers ? " bad" : ""}`}>${S.tubeWorkerCount(count(tube.workers))}</span><${Paused} tube=${tube} /><span class="grow"></span>
    ${can("job.put") && button("tube-put", "plus", S.putButton, () => openDialog(Put, { tube, done }))}
    ${can("tube.kick") && tube.jobs.buried > 0 && button("tube-kick", "kick", S.tubeKickAll, () => kickBuried(tube, done))}
    ${can("tube.pause") && !tube.paused && button("tube-pause", "pause", S.tubePause, () => openDialog(Pause, { tube, done }))}
    ${can("tube.resume") && tube.paused && button("tube-resume", "play", S.tubeResume, () => resume(tube, done))}
    ${can("job.delete") && tube.jobs.ready + tube.jobs.delayed + tube.jobs.buried > 0 && button("tube-clear", null, S.tubeClear, clear, true)}</div>`;
}

const GROUPS = "groups";  // a tab beside those of the states

function Tabs({ tube, state, query }) {
  const row = useInSight(state);
  const reordered = (one) => one !== state && [one, state].includes(GROUPS) && { order: null, sort: null };
  const tab = (one, text, number) => html`<a key=${one} class=${one} href=${tubeLink(tube.ref, { ...query, state: one, cursor: null, ...reordered(one) })}
    aria-current=${one === state ? "true" : undefined} data-testid=${`tab-${one}`}>${text}<b><${Num} value=${number} /></b></a>`;
  return html`<nav class="tabs" ref=${row} aria-label=${S.jobsState}>${STATES.map((one) => tab(one, S.statesUpper[one], tube.jobs[one]))}
    ${(state === GROUPS || tube.groups + tube.jobs_without_group > 0) && tab(GROUPS, S.groups, tube.groups)}</nav>`;
}

function Numbers({ tube, done }) {
  const rates = useMemo(() => new Rates(), []);
  rates.add("tube", tube);
  const perSecond = (what) => S.perSecond(rate(rates.of("tube", what)));
  const { high, normal, low, source } = tube.maxqueue;
  const limit = source === "none" ? S.none : html`${[high, normal, low].every((one) => one === normal) ? count(normal)
    : [high, normal, low].map(count).join(", ")} <span class="dim">${S.tubeSources[source]}</span>`;
  return html`<section class="panel"><header><h2>${S.tubeTube}</h2><span class="grow"></span>
      ${can("tube.maxqueue") && html`<button type="button" class="btn small" onClick=${() => openDialog(MaxQueue, { tube, done })}>${S.tubeLimitButton}</button>`}
      ${can("tube.drop") && html`<button type="button" class="btn small bad" onClick=${() => askDrop(tube)}>${S.tubeDrop}…</button>`}</header>
    <${Record} rows=${[
      [S.tubeFlow, S.overviewFlow(perSecond("put"), perSecond("gone"))],
      ...["put_total", "completed_total", "deleted_total", "failed_total", "timed_out_total", "buried_total"].map((name) => [S.counters[name], count(tube.counters[name])]),
      ...["retried_total", "dead_total", "expired_total"].map((name) => tube.counters[name] && [S.counters[name], count(tube.counters[name])]),
      [S.tubeOldest, tube.jobs.ready ? duration(tube.oldest_ready_age_seconds) : S.none], [S.tubeLimit, limit],
      [S.tubeWatching, S.tubeWatchers(count(tube.watching), count(tube.using), count(tube.waiting))],
      tube.retrying ? [S.tubeRetrying, count(tube.retrying)] : null, tube.held_back ? [S.tubeHeldBack, tube.held_back] : null]} /></section>`;
}

// Why the tube is stuck, if it is.
function Why({ tube }) {
  const { data } = useAsk(tube.jobs.ready || tube.jobs.buried ? pathWith("attention", namedBy(tube)) : null, { every: EVERY });
  return (data?.items ?? []).map((item) => html`<div key=${item.kind} class="note" data-testid="tube-attention" data-kind=${item.kind}>
    <span class="grow">${item.tubes[0]?.reason ?? item.reason}</span>${item.kind === "buried" && html`<a class="btn small" href=${link("failures", namedBy(tube))}>${S.nav.failures}</a>`}</div>`);
}

// Who runs what, whatever the tab shows.
function Running({ tube }) {
  const path = tube.jobs.reserved ? pathWith(`tubes/${tube.ref}/jobs`, { state: "reserved", limit: 10, order: "next" }) : null;
  const { data, reload } = useAsk(path, { every: EVERY });
  useEffect(() => {
    reload();
  }, [tube.jobs.reserved]);
  if (!data?.items.length) return null;
  return html`<section class="panel"><header><h2>${S.tubeRunning}</h2></header><ul class="todo">${data.items.map((job) => html`
    <li key=${job.id}><span class="grow"><a class="mono" href=${jobLink(job.id)}>${job.id}</a>
      ${job.holder && html` <span class="dim"><${Name} text=${S.client(job.holder)} /></span>`}</span>
      <span class="reserved nowrap">${job.ttr_left_seconds === null ? S.jobsNoEnd : S.jobsLeft(duration(job.ttr_left_seconds))}</span></li>`)}</ul></section>`;
}

function NoJobs({ tube, state, query }) {
  if (!isFiltered(query)) return html`<${Empty} title=${S.jobsNone(S.states[state])} testid="jobs-empty"><span>${S.jobsNoneText[state]}</span><//>`;
  return html`<${Empty} icon="search" title=${S.jobsNoMatch(S.states[state])} testid="jobs-empty">
    <span>${S.jobsNoMatchText(count(tube.jobs[state]))}</span>
    <button type="button" class="btn" onClick=${() => setQuery(cleared)}>${S.filterClear}</button><//>`;
}

const COLUMNS = { ready: null, buried: null, delayed: S.jobsDue, reserved: S.jobsTtrLeft };

export function Tube({ param, query }) {
  const ref = refOf(param);
  const [unset, setUnset] = useState(null);  // the tab to begin with: the first state that has jobs
  const order = query.order === "next" ? "next" : "id";
  const asked = useRef(null);
  const changed = useSparingly(() => asked.current?.());
  const { tube, problem, reload, gone, missing } = useTube(ref, changed);
  useEffect(() => {
    if (tube && !unset) setUnset(["buried", "ready", "reserved", "delayed"].find((one) => tube.jobs[one] > 0) ?? "ready");
  }, [tube]);
  const state = [...STATES, GROUPS].includes(query.state) ? query.state : unset;
  const listed = { state, order: order === "next" ? order : null, ...parametersOf(query) };
  const parameters = { ...listed, preview: hasBodies() ? 1 : null, cursor: query.cursor };
  // By its name, as that is no error when the tube went away.
  const walk = useJobs(state && state !== GROUPS && tube ? "jobs" : null, { ...(tube && namedBy(tube)), ...parameters });
  asked.current = !query.cursor && !readsBodies(query) ? walk.start : null;
  const history = useHistory(tube, Boolean(tube) && !gone);
  const done = () => {
    if (live.value.state !== "live") reload();  // else an event tells, also that the tube went away
    walk.start();
  };
  const name = tube?.name ?? S.tubeTube;
  const shown = state === GROUPS
    ? { api: pathWith(`tubes/${ref}/groups`, groupsOrder(query)), ctl: `groups ${shellWord(name)} --sort ${groupsOrder(query).sort}` }
    : { api: pathWith(`tubes/${ref}/jobs`, listed), ctl: `jobs ${shellWord(name)} --state ${state}${order === "next" ? " --order next" : ""}${flagsOf(query)}` };
  const frame = { name: "tube", title: name, crumbs: [[S.nav.tubes, "#/tubes"], [name]], ...(tube ? shown : { api: `tubes/${ref}`, ctl: "tubes" }) };
  if (!tube) {
    return html`<${Page} ...${frame}>${missing ? html`<section class="panel"><${Empty} title=${S.tubeMissing} testid="tube-missing"><span>${S.tubeMissingText}</span><//></section>`
      : problem ? html`<${Trouble} problem=${problem} reload=${reload} />` : html`<${Loading} />`}<//>`;
  }
  const filter = { ...namedBy(tube), state: [state], ...membersOf(query) };
  const where = S.jobsWhere(S.states[state], tube.name, describe(query));
  return html`<${Page} ...${frame}><${Head} tube=${tube} filter=${namedBy(tube)} done=${done} />${!gone && html`<${Why} tube=${tube} />`}
    <div class="wide"><section class="panel"><${Tabs} tube=${tube} state=${state} query=${query} />
      ${state === GROUPS ? html`<${Groups} tube=${tube} query=${query} />`
    : html`<${Filter} query=${query}><${Choice} label=${S.jobsOrder} value=${order} choices=${S.jobsOrders} choose=${(of) => setQuery({ order: of === "id" ? null : of, cursor: null })} /><//>`}
      ${state && state !== GROUPS && html`<${JobList} walk=${walk} query=${query} filter=${filter} states=${[state]} where=${where}
        columns=${{ due: COLUMNS[state], worker: state === "reserved", preview: hasBodies() }} empty=${html`<${NoJobs} tube=${tube} state=${state} query=${query} />`} />`}</section>
      <div class="stack"><${JobsChart} history=${history} height=${150} /><${Numbers} tube=${tube} done=${done} />
        <${Running} tube=${tube} /><${Policy} tube=${tube} /></div></div><//>`;
}
