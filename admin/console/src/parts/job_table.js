// Rows of jobs: a table, cards where it is narrow.
import { bytes, count, duration } from "../format.js";
import { html } from "../html.js";
import { jobLink, tubeLink } from "../route.js";
import * as S from "../strings.js";
import { Name, State, visiblePreview } from "./small.js";

const number = (value) => (value ? "n" : "n zero");

// When a delayed job is due, or when a reserved one runs out of its time.
function dueOf(job) {
  if (job.state === "delayed") return duration(job.due_in_seconds);
  if (job.state === "reserved") return job.ttr_left_seconds === null ? S.jobsNoEnd : S.jobsLeft(duration(job.ttr_left_seconds));
  return "";
}

function Row({ job, columns, selected, toggle }) {
  const pick = toggle && html`<td class="pick"><label><span class="word">${S.jobsSelectWord}</span><input type="checkbox" data-testid="job-select" checked=${selected}
    aria-label=${S.jobsSelect(job.id)} onChange=${() => toggle(job.id)} /></label></td>`;
  return html`<tr data-testid="job-row" data-row data-id=${job.id} class=${selected ? "selected" : ""}>${pick}
    <td class="title mono nowrap"><a href=${jobLink(job.id)} data-open>${job.id}</a></td>
    ${columns.where && html`<td class="full from"><a href=${tubeLink(job.tube_ref, { state: job.state })}><${Name} text=${job.tube} class="name mono" /></a></td>
      <td data-label=${S.jobsState}><${State} state=${job.state} /></td>`}
    <td class="nowrap" data-label=${S.jobsAge}>${duration(job.age_seconds)}</td>
    <td class="n" data-label=${S.jobsPriority}>${job.priority}</td>
    <td class=${number(job.reserves)} data-label=${S.jobsReserves}>${count(job.reserves)}</td>
    <td class="n" data-label=${S.jobsSize}>${bytes(job.size_bytes)}</td>
    ${columns.worker && html`<td class="full from" data-label=${S.runningWorker}>${job.holder ? html`<${Name} text=${S.client(job.holder)} />` : "–"}</td>`}
    ${columns.due && html`<td class="n" data-label=${columns.due}>${dueOf(job)}</td>`}
    ${columns.preview && html`<td class="preview" title=${S.jobsBody}>${visiblePreview(job.preview)}</td>`}</tr>`;
}

// columns: {where, worker, due, preview}. `toggle(id)` and `togglePage` are absent if nothing may be selected.
export function JobTable({ jobs, columns, selection, toggle, togglePage }) {
  const whole = jobs.length > 0 && jobs.every((job) => selection.has(job.id));
  const some = !whole && jobs.some((job) => selection.has(job.id));
  return html`<table class="cards" data-testid="jobs-table"><thead><tr>
    ${toggle && html`<th class="pick" scope="col"><label><input type="checkbox" data-testid="select-page" checked=${whole}
      ref=${(element) => element && (element.indeterminate = some)} aria-label=${S.jobsSelectPage} onChange=${togglePage} /><span class="word"> ${S.jobsSelectPage}</span></label></th>`}
    <th scope="col">${S.jobsJob}</th>
    ${columns.where && html`<th scope="col">${S.jobsTube}</th><th scope="col">${S.jobsState}</th>`}
    <th scope="col">${S.jobsAge}</th><th scope="col" class="n">${S.jobsPriority}</th><th scope="col" class="n">${S.jobsReserves}</th>
    <th scope="col" class="n">${S.jobsSize}</th>${columns.worker && html`<th scope="col">${S.runningWorkerUpper}</th>`}${columns.due && html`<th scope="col" class="n">${columns.due}</th>`}
    ${columns.preview && html`<th scope="col">${S.jobsBody}</th>`}</tr></thead>
    <tbody>${jobs.map((job) => html`<${Row} key=${job.id} job=${job} columns=${columns} toggle=${toggle} selected=${selection.has(job.id)} />`)}</tbody></table>`;
}
