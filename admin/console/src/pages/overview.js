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
    [S.factsMemory, bytes(memory.job_bytes), limit],
    [S.factsJournal, journal.sync === "memory" ? S.factsInMemory : duration(journal.sync_seconds_p99), journal.sync === "memory" ? "" : journal.sync],
    [S.factsLag, duration(now.loop_lag_seconds_p99), ""],
  ];
  return html`<dl class="panel facts">${facts.map(([name, value, note]) => html`<div key=${name}><dt>${name}</dt><dd>${value} <small>${note}</small></dd></div>`)}</dl>`;
}

// What an operator should look at: [[bad, text, button]].
function attentionOf(now, { buried, paused, busiest, reload }) {
  const look = (tube, state) => html`<a class="btn small" href=${tubeLink(tube.ref, { state })}>${S.look}</a>`;
  const name = (tube) => html`<b><${Name} text=${tube.name} /></b>`;
  const items = buried.map((tube) => [true, html`<b>${S.attentionBuried(count(tube.jobs.buried))}</b> ${S.inside} ${name(tube)}`, look(tube, "buried")]);
  for (const tube of busiest.filter((one) => one.jobs.ready > 0 && one.workers === 0)) {
    items.push([true, html`${name(tube)} ${S.attentionUnserved(count(tube.jobs.ready))}`, look(tube, "ready")]);
  }
  for (const tube of paused.filter((one) => one.jobs.ready > 0)) {
    items.push([false, html`${name(tube)} ${S.attentionPaused(count(tube.jobs.ready))}`, can("tube.resume")
      ? html`<button type="button" class="btn small" onClick=${() => resume(tube, reload)}>${S.tubeResume}</button>` : look(tube, "ready")]);
  }
  const refused = Object.entries(now.refused ?? {}).filter(([, times]) => times > 0);
  if (refused.length) {
    items.push([false, S.attentionRefused(refused.map(([word, times]) => `${S.refusals[word] ?? word} (${count(times)})`).join(", ")),
      html`<a class="btn small" href="#/server">${S.look}</a>`]);
  }
  if (now.draining) items.push([false, S.attentionDraining, html`<a class="btn small" href="#/server">${S.look}</a>`]);
  return items;
}

function Attention({ items }) {
  return html`<section class="panel"><header><h2>${S.attentionTitle}</h2></header><ul class="todo" data-testid="attention">
    ${items.length ? items.map(([bad, text, button]) => html`<li class=${bad ? "bad" : ""}><i></i><span class="grow">${text}</span>${button}</li>`)
      : html`<li class="dim">${S.attentionNone}</li>`}</ul></section>`;
}

function useTubes() {
  const busiest = useAsk("tubes?sort=busy&order=desc&limit=8", { every: EVERY });
  const buried = useAsk("tubes?only=buried&sort=buried&order=desc&limit=5", { every: EVERY });
  const paused = useAsk("tubes?only=paused&limit=5", { every: EVERY });
  const [fresh, setFresh] = useState({});
  useEffect(() => setFresh({}), [busiest.data]);
  const hear = useCallback((type, tube) => {
    if (type === "tube" && !tube.gone) setFresh((old) => ({ ...old, [tube.ref]: tube }));
  }, []);
  const listed = busiest.data?.items ?? [];
  useEvents(["tube"], listed.map((tube) => tube.ref), hear);
  const current = (asked) => (asked.data?.items ?? []).map((tube) => fresh[tube.ref] ?? tube);
  const reload = () => [busiest, buried, paused].forEach((asked) => asked.reload());
  return { busiest: current(busiest), total: busiest.data?.total ?? null, problem: busiest.problem, reload,
    buried: current(buried).filter((tube) => tube.jobs.buried > 0), paused: current(paused).filter((tube) => tube.paused) };
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
      <${Attention} items=${attentionOf(now, tubes)} /><${LastOperations} /></div></div><//>`;
}
