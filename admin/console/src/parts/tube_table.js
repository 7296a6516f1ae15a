// Tubes as rows: their numbers, a bar of states whose parts link to the lists, and small acts.
import { Rates } from "../rates.js";
import { STATES, count, duration, rate } from "../format.js";
import { html, useMemo } from "../html.js";
import { tubeLink } from "../route.js";
import * as S from "../strings.js";
import { RowActs } from "./tube_acts.js";
import { Empty, Mix, Name, Num } from "./small.js";

const LONG = 10 * 365 * 86400;  // seconds: nobody waits for the end of such a pause

const zero = (value) => (value ? "n" : "n zero");

export function Paused({ tube }) {
  return tube.paused && html`<span class="tag warn" data-testid="paused">${tube.pause_left_seconds > LONG ? S.tubePausedLong : S.tubePaused(duration(tube.pause_left_seconds))}</span>`;
}

function Title({ tube }) {
  return html`<td class="title named"><a href=${tubeLink(tube.ref)} data-open><${Name} text=${tube.name} /></a><${Paused} tube=${tube} />
    ${tube.jobs.ready > 0 && tube.workers === 0 && html` <span class="tag bad">${S.tubeNoWorkers}</span>`}</td>`;
}

function Row({ tube, rates, brief, reload }) {
  const cell = (state) => html`<td class=${`${zero(tube.jobs[state])}${state === "buried" && tube.jobs.buried ? " buried" : ""}`}
    data-label=${S.states[state]}><${Num} value=${tube.jobs[state]} data-testid=${`cell-${state}`} /></td>`;
  const into = rates.of(tube.ref, "put");
  const out = rates.of(tube.ref, "gone");
  return html`<tr data-testid="tube-row" data-row data-ref=${tube.ref}><${Title} tube=${tube} /><td class="full"><${Mix} jobs=${tube.jobs} to=${(state) => tubeLink(tube.ref, { state })} /></td>
    ${STATES.map(cell)}
    <td class=${zero(into)} data-label=${S.tubeIn}>${rate(into)}</td>
    ${!brief && html`<td class=${zero(out)} data-label=${S.tubeOut}>${rate(out)}</td>`}
    ${!brief && html`<td class=${zero(tube.oldest_ready_age_seconds)} data-label=${S.tubeOldest}>${tube.jobs.ready ? duration(tube.oldest_ready_age_seconds) : "–"}</td>`}
    <td class=${zero(tube.workers)} data-label=${S.tubeWorkers}>${count(tube.workers)}</td>
    ${!brief && html`<td class="acts full"><${RowActs} tube=${tube} done=${reload} /></td>`}</tr>`;
}

// A heading that sorts; `sort`: {by, order, choose}.
export function Heading({ name, text, sort, number, testid }) {
  const active = sort?.by === name;
  const order = sort?.order === "asc" ? "ascending" : "descending";
  return html`<th scope="col" class=${number ? "n" : ""} aria-sort=${active ? order : undefined}>${sort
    ? html`<button type="button" data-testid=${testid} onClick=${() => sort.choose(name)}>${text}</button>` : text}</th>`;
}

export function TubeTable({ tubes, sort, brief = false, reload }) {
  const rates = useMemo(() => new Rates(), []);
  tubes.forEach((tube) => rates.add(tube.ref, tube));
  return html`<table class=${`cards tight${brief ? " brief" : ""}`} data-testid="tubes-table"><thead><tr>
    <${Heading} name="name" text=${S.tubeTube} sort=${sort} testid="sort-name" /><th scope="col">${S.tubeJobs}</th>
    ${STATES.map((state) => html`<${Heading} key=${state} name=${state} text=${S.statesUpper[state]} sort=${sort} number testid=${`sort-${state}`} />`)}
    <th scope="col" class="n">${S.tubeInUpper}</th>${!brief && html`<th scope="col" class="n">${S.tubeOutUpper}</th>`}
    ${!brief && html`<${Heading} name="oldest" text=${S.tubeOldestUpper} sort=${sort} number testid="sort-oldest" />`}
    <${Heading} name="workers" text=${S.tubeWorkersUpper} sort=${sort} number testid="sort-workers" />
    ${!brief && html`<th scope="col"><span class="sr">${S.acts}</span></th>`}</tr></thead>
    <tbody>${tubes.map((tube) => html`<${Row} key=${tube.ref} tube=${tube} rates=${rates} brief=${brief} reload=${reload} />`)}</tbody></table>`;
}

export function NoTubes() {
  return html`<${Empty} title=${S.tubesNone} testid="tubes-empty"><span>${S.tubesNoneText}</span><pre>gearstalkctl put hello "first job"</pre><//>`;
}
