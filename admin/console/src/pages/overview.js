// The whole broker at a glance, and what needs attention.
import { useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { STATES, bytes, count, duration, rate } from "../format.js";
import { html, useCallback, useEffect, useMemo, useState } from "../html.js";
import { useEvents } from "../live.js";
import { server } from "../live_state.js";
import { JobsChart, RatesChart, useHistory } from "../parts/history.js";
import { LastOperations } from "../parts/operations.js";
import { Page } from "../parts/page.js";
import { Put } from "../parts/put.js";
import { Icon, Loading, Name, Num, Spark, Trouble } from "../parts/small.js";
import { resume } from "../parts/tube_acts.js";
import { TubeTable, NoTubes } from "../parts/tube_table.js";
import { Rates } from "../rates.js";
import { link, tubeLink } from "../route.js";
import { can, seesAll } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const EVERY = 10;  // seconds between questions about the tubes
const GRAVE = ["unserved", "falls_behind", "silent_workers", "disk", "memory"];

const ageOf = (at) => duration(Math.max(0, (Date.now() - Date.parse(at)) / 1000));

function deltaOf(history, state) {
  const values = history.of(`jobs_${state}`).filter((value) => value !== null);
  return values.length > 1 ? Math.round(values[values.length - 1] - values[0]) : 0;
}

function Counts({ now, history, busiest }) {
  const rates = useMemo(() => new Rates(), []);
  rates.add("server", now);
  const most = busiest.filter((tube) => tube.jobs.reserved > 0).sort((a, b) => b.jobs.reserved - a.jobs.reserved)[0];
  const notes = {
    ready: S.overviewFlow(S.perSecond(rate(rates.of("server", "put"))), S.perSecond(rate(rates.of("server", "gone")))),
    reserved: most ? html`${S.overviewMost(count(most.jobs.reserved))} <b><${Name} text=${most.name} /></b>` : S.overviewNobody,
    delayed: S.overviewDelta(deltaOf(history, "delayed"), history.range),
    buried: S.overviewDelta(deltaOf(history, "buried"), history.range),
  };
  return html`<div class="counts">${STATES.map((state) => html`
    <a key=${state} class="panel count" href=${link("jobs", { state })} data-testid=${`count-${state}`}>
      <small><span class=${`state ${state}`}>${S.statesUpper[state]}</span></small><strong><${Num} value=${now.jobs[state]} /></strong>
      <${Spark} values=${history.of(`jobs_${state}`)} state=${state} /><small>${notes[state]}</small></a>`)}</div>`;
}

function Facts({ now }) {
  const { connections, memory, journal } = now;
  const limit = memory.job_limit_bytes ? S.ofLimit(bytes(memory.job_limit_bytes)) : S.noLimit;
  const facts = [
    [S.factsOldest, duration(now.oldest_ready_age_seconds), ""],
    [S.factsWorkers, html`<${Num} value=${connections.workers} />`, S.factsWait(count(connections.waiting))],
    [S.factsConnections, html`<${Num} value=${connections.open} />`, S.ofLimit(count(connections.limit))],
    [S.factsMemory, bytes(memory.job_bytes), memory.bodies_in_journal ? S.factsOnDisk(bytes(memory.bodies_in_journal_bytes)) : limit],
    [S.factsJournal, journal.sync === "memory" ? S.factsInMemory : duration(journal.sync_seconds_p99), journal.sync === "memory" ? "" : journal.sync],
    [S.factsLag, duration(now.loop_lag_seconds_p99), ""],
  ];
  return html`<dl class="panel facts">${facts.map(([name, value, note]) => html`<div key=${name}><dt>${name}</dt><dd>${value} <small>${note}</small></dd></div>`)}</dl>`;
}

// One line a kind: what is wrong, the tubes that have it, and where to look.
function Concern({ item, reload }) {
  const [first] = item.tubes;
  const one = item.count === 1 && first;
  const shown = item.tubes.slice(0, 3);
  const button = item.kind === "paused" && one && can("tube.resume")
    ? html`<button type="button" class="btn small" onClick=${() => resume(first, reload)}>${S.tubeResume}</button>`
    : html`<a class="btn small" href=${one && item.kind !== "buried" ? tubeLink(first.ref) : item.link}>${S.look}</a>`;
  return html`<li class=${GRAVE.includes(item.kind) ? "bad" : ""} data-testid="attention-item" data-kind=${item.kind}><i></i>
    <span class="grow">${item.reason}${item.since_at && html` <small class="dim nowrap">${S.attentionSince(ageOf(item.since_at))}</small>`}
    ${shown.length > 0 && html`<br /><small>${shown.map((tube, index) => html`${index > 0 && ", "}<a href=${tubeLink(tube.ref)} title=${tube.reason}><${Name} text=${tube.name} /></a>`)}
      ${item.count > shown.length && html` ${S.attentionMore(count(item.count - shown.length))}`}</small>`}</span>${button}</li>`;
}

function Attention({ reload }) {
  const { data, problem, reload: again } = useAsk("attention", { every: EVERY });
  const done = () => {
    again();
    reload();
  };
  if (problem) return html`<${Trouble} problem=${problem} reload=${again} />`;
  return html`<section class="panel"><header><h2>${S.attentionTitle}</h2></header><ul class="todo" data-testid="attention">
    ${data?.items.length ? data.items.map((item) => html`<${Concern} key=${item.kind} item=${item} reload=${done} />`)
      : html`<li class="dim">${data?.at ? S.attentionNone : S.loading}</li>`}</ul></section>`;
}

function useTubes() {
  const busiest = useAsk("tubes?sort=busy&order=desc&limit=8", { every: EVERY });
  const [fresh, setFresh] = useState({});
  useEffect(() => setFresh({}), [busiest.data]);
  const hear = useCallback((type, tube) => {
    if (type === "tube" && !tube.gone) setFresh((old) => ({ ...old, [tube.ref]: tube }));
  }, []);
  const listed = busiest.data?.items ?? [];
  useEvents(["tube"], listed.map((tube) => tube.ref), hear);
  return { busiest: listed.map((tube) => fresh[tube.ref] ?? tube), total: busiest.data?.total ?? null, problem: busiest.problem,
    reload: busiest.reload };
}

function Tubes({ tubes }) {
  if (tubes.problem) return html`<${Trouble} problem=${tubes.problem} reload=${tubes.reload} />`;
  if (tubes.total === 0) return html`<section class="panel"><${NoTubes} /></section>`;
  return html`<section class="panel"><header><h2>${S.overviewBusiest}</h2><span class="grow"></span>
    <a class="btn small" href="#/tubes">${S.overviewAll(count(tubes.total))}</a></header>
    <${TubeTable} tubes=${tubes.busiest} reload=${tubes.reload} brief /></section>`;
}

export function Overview() {
  const now = useStore(server);
  const history = useHistory(null, seesAll());
  const tubes = useTubes();
  if (!now) return html`<${Page} name="overview" title=${S.nav.overview} api="server" ctl="status"><${Loading} /><//>`;
  return html`<${Page} name="overview" title=${S.nav.overview} api="server" ctl="status">
    <div class="head"><h1>${S.nav.overview}</h1><span class=${`tag ${now.ready ? "ok" : "bad"}`}>${now.ready ? S.ready : S.notReadyShort}</span>
      <span class="tag">${now.version}</span><span class="dim">${S.up(duration(now.uptime_seconds))}</span><span class="grow"></span>
      ${can("job.put") && html`<button type="button" class="btn main" onClick=${() => openDialog(Put, { done: tubes.reload })}><${Icon} name="plus" />${S.putTitle}</button>`}</div>
    <${Counts} now=${now} history=${history} busiest=${tubes.busiest} /><${Facts} now=${now} />
    <div class="two"><${JobsChart} history=${history} /><${RatesChart} history=${history} /></div>
    <div class="wide"><${Tubes} tubes=${tubes} /><div class="stack">
      <${Attention} reload=${tubes.reload} /><${LastOperations} /></div></div><//>`;
}
