// Who works on what: the reserved jobs, the least time left first, then the workers without one.
import { pathWith, useAsk } from "../api.js";
import { count, duration, instant, shellWord } from "../format.js";
import { html } from "../html.js";
import { server } from "../live_state.js";
import { Page } from "../parts/page.js";
import { Empty, Icon, Loading, Meter, Name, Trouble } from "../parts/small.js";
import { jobLink, link, setQuery, tubeLink } from "../route.js";
import { seesAll } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const EVERY = 5;  // seconds
const MOST = 100;
const MOST_IDLE = 20;

function Row({ job }) {
  const { holder, progress } = job;
  const who = html`<${Name} text=${holder?.client_id || `#${holder?.connection ?? "?"}`} />`;
  return html`<tr data-testid="running-row" data-row data-id=${job.id}>
    <td class="title named"><a href=${tubeLink(job.tube_ref, { state: "reserved" })}><${Name} text=${job.tube} /></a></td>
    <td class="mono" data-label=${S.jobsJob}><a href=${jobLink(job.id)} data-open>${job.id}</a></td>
    <td data-label=${S.runningWorker}>${holder && seesAll() ? html`<a href=${link("connections", { id: holder.connection })}>${who}</a>` : who}</td>
    <td class="mono full" data-label=${S.connectionsAddress}><${Name} text=${holder?.address ?? ""} /></td>
    <td data-label=${S.runningProgress}>${progress ? html`<${Meter} share=${progress.numerator / progress.denominator} />` : "–"}</td>
    <td class="n" data-label=${S.runningAttempts}>${S.jobAttempts(job.attempts === null ? job.reserves : job.attempts + 1, job.max_attempts)}</td>
    <td class="n" data-label=${S.runningSince} title=${instant(job.reserved_at)}>${S.ago(duration(job.running_seconds))}</td>
    <td class="n reserved" data-label=${S.jobsTtrLeft}>${job.ttr_left_seconds === null ? S.jobsNoEnd : duration(job.ttr_left_seconds)}</td></tr>`;
}

function Table({ items }) {
  return html`<table class="cards" data-testid="running-table"><thead><tr>${S.runningColumns.map((text) => html`<th scope="col" key=${text}
      class=${S.runningNumbers.includes(text) ? "n" : ""}>${text}</th>`)}</tr></thead>
    <tbody>${items.map((job) => html`<${Row} key=${job.id} job=${job} />`)}</tbody></table>`;
}

// Who could work and does not.
function Idle({ tube }) {
  const { data } = useAsk(seesAll() ? pathWith("connections", { role: "idle", tube, limit: MOST }) : null, { every: EVERY });
  const idle = data?.items ?? [];
  if (!idle.length) return null;
  return html`<section class="panel" data-testid="running-idle"><header><h2>${S.runningIdle(count(idle.length) + (data.next ? "+" : ""))}</h2></header><ul class="todo">${idle.slice(0, MOST_IDLE).map((worker) => html`
    <li key=${worker.id}><span class="grow"><a href=${link("connections", { id: worker.id })}><${Name} text=${S.client(worker)} /></a> <span class="dim">${worker.watches.slice(0, 5).join(", ")}</span></span>
      <small class="dim nowrap">${S.runningIdleFor(duration(worker.idle_seconds))}</small></li>`)}</ul></section>`;
}

function Filter({ tube }) {
  const submit = (event) => {
    event.preventDefault();
    setQuery({ tube: event.target.elements.tube.value || null });
  };
  return html`<form class="filter" role="search" onSubmit=${submit}><input type="search" name="tube" key=${tube} defaultValue=${tube ?? ""} data-filter
      data-testid="running-tube" placeholder=${S.connectionsByTube} aria-label=${S.connectionsByTube} />
    <button class="btn small"><${Icon} name="search" />${S.filterApply}</button>
    ${tube && html`<a class="btn small" href="#/running" data-testid="filter-clear">${S.filterClear}</a>`}</form>`;
}

export function Running({ query }) {
  const now = useStore(server);
  const { tube } = query;
  const api = pathWith("jobs", { tube, state: "reserved", order: "next", limit: MOST });
  const { data, problem, reload } = useAsk(api, { every: EVERY });
  const body = () => {
    if (problem) return html`<div class="pad"><${Trouble} problem=${problem} reload=${reload} /></div>`;
    if (!data) return html`<${Loading} />`;
    if (!data.items.length) return html`<${Empty} title=${S.overviewNobody} testid="running-empty"><span>${S.runningNone}</span><//>`;
    return html`<${Table} items=${data.items} /><div class="more">${S.tubesShown(count(data.items.length), count(data.count ?? data.items.length))}</div>`;
  };
  return html`<${Page} name="running" title=${S.nav.running} api=${api} ctl=${`running${tube ? ` --tube ${shellWord(tube)}` : ""}`}>
    <div class="head"><h1>${S.nav.running}</h1>${now && html`<span class="dim">${S.runningSummary(count(now.jobs.reserved), count(now.connections.workers), count(now.connections.waiting))}</span>`}</div>
    <section class="panel"><${Filter} tube=${tube} />${body()}</section><${Idle} tube=${tube} /><//>`;
}
