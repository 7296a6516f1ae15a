// A list of jobs that can be selected and acted on. The address holds filter and cursor.
import { pathWith } from "../api.js";
import { openDialog } from "../dialogs.js";
import { isFiltered } from "../filters.js";
import { count } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { operations } from "../operations.js";
import { setQuery } from "../route.js";
import { can } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { useWalk } from "../walk.js";
import { BulkMatching, BulkSelected, actOnEach } from "./bulk.js";
import { JobTable } from "./job_table.js";
import { Under } from "./page.js";
import { Loading, Trouble } from "./small.js";

export const PAGE = 50;
const NOTHING = new Set();

// The states in which jobs can be acted on.
const ALLOWED = {
  kick: ["buried", "delayed"], bury: ["ready", "delayed"], release: ["reserved"],
  move: ["ready", "delayed", "buried"], copy: ["ready", "reserved", "delayed", "buried"],
  delete: ["ready", "reserved", "delayed", "buried"],
};
const AT_ONCE = ["kick", "bury"];  // one job is done without a question, as it can be undone

export function actionsFor(states) {
  return Object.keys(ALLOWED).filter((action) => can(`job.${action}`) && states.every((state) => ALLOWED[action].includes(state)));
}

function useSelection(key, jobs) {
  const [ids, setIds] = useState(NOTHING);
  const [all, setAll] = useState(false);
  const clear = () => {
    setIds(NOTHING);
    setAll(false);
  };
  useEffect(clear, [key]);
  // What left the list is no longer selected.
  useEffect(() => setIds((old) => {
    const kept = (jobs ?? []).filter((job) => old.has(job.id)).map((job) => job.id);
    return kept.length === old.size ? old : new Set(kept);
  }), [jobs]);
  const toggle = (id) => {
    const next = new Set(ids);
    if (!next.delete(id)) next.add(id);
    setIds(next);
    setAll(false);
  };
  const togglePage = () => {
    setAll(false);
    setIds(jobs.every((job) => ids.has(job.id)) ? NOTHING : new Set(jobs.map((job) => job.id)));
  };
  return { ids, all, setAll, clear, toggle, togglePage };
}

function Bulk({ selection, jobs, states, filter, where, total, done }) {
  const chosen = jobs.filter((job) => selection.ids.has(job.id));
  if (!selection.all && !chosen.length) return null;
  const finish = () => {
    selection.clear();
    done();
  };
  const run = (action) => {
    if (selection.all) openDialog(BulkMatching, { action, filter, where, done: finish });
    else if (chosen.length === 1 && AT_ONCE.includes(action)) actOnEach(action, chosen).then(finish);
    else openDialog(BulkSelected, { action, jobs: chosen, where: S.jobsOfPage, done: finish });
  };
  const text = selection.all ? (total === null ? S.jobsAllSelected : S.jobsAllCountSelected(count(total)))
    : S.jobsSelected(count(chosen.length));
  const concerned = selection.all ? states : [...new Set(chosen.map((job) => job.state))];
  return html`<div class="bulk" role="group" aria-label=${S.jobsBulk}><strong data-testid="selected-count">${text}</strong>
    ${!selection.all && html`<${SelectAll} selection=${selection} total=${total} />`}
    <button type="button" class="link" onClick=${selection.clear}>${S.jobsSelectNone}</button><span class="grow"></span>
    ${actionsFor(concerned).map((action) => html`<button type="button" key=${action} data-testid=${`bulk-${action}`}
      class=${`btn small${action === "delete" ? " bad" : ""}`} onClick=${() => run(action)}>${S.bulkButtons[action]}</button>`)}</div>`;
}

function SelectAll({ selection, total }) {
  return html`<button type="button" class="link" data-testid="select-all" onClick=${() => selection.setAll(true)}>
    ${total === null ? S.jobsSelectAll : S.jobsSelectAllCount(count(total))}</button>`;
}

function Pages({ walk, query, children }) {
  const shown = S.jobsShown(count(walk.items.length), walk.count === null ? null : count(walk.count), count(walk.scanned));
  return html`<div class="more"><span>${shown}</span>${children}<span class="grow"></span>
    ${walk.running && walk.items.length < PAGE && html`<button type="button" class="btn small" onClick=${walk.stop}>${S.stop}</button>`}
    ${query.cursor && html`<button type="button" class="btn small" onClick=${() => setQuery({ cursor: null })}>${S.jobsFirst}</button>`}
    <button type="button" class="btn small" data-testid="jobs-next" disabled=${!walk.next}
      onClick=${() => setQuery({ cursor: walk.next })}>${S.next}</button></div>`;
}

// The walk of a list: `parameters` go to the API. It is walked again when an operation ended.
export function useJobs(path, parameters, limit = PAGE) {
  const walk = useWalk(path, parameters, limit);
  const ended = useStore(operations).filter((operation) => operation.ended_at).length;
  const before = useRef(ended);
  useEffect(() => {
    if (before.current !== ended) walk.start();
    before.current = ended;
  }, [ended]);
  return { ...walk, key: path && pathWith(path, parameters) };
}

// `filter`: what an operation over all that match is given; `states`: those of the list; `where`:
// both in words. `empty`: what stands there when nothing matches.
export function JobList({ walk, query, filter, states, where, columns, empty }) {
  const selection = useSelection(walk.key, walk.items);
  if (walk.problem) return html`<div class="pad"><${Trouble} problem=${walk.problem} reload=${walk.start} /></div>`;
  if (!walk.items) return html`<${Loading} />`;
  if (!walk.items.length && !walk.running) return empty;
  const may = actionsFor(["ready"]).length > 0;
  const unfiltered = !isFiltered(query);
  const total = unfiltered ? walk.count : walk.next || query.cursor ? null : walk.items.length;
  return html`<${JobTable} jobs=${walk.items} columns=${columns} selection=${selection.all ? new Set(walk.items.map((job) => job.id)) : selection.ids}
      toggle=${may && selection.toggle} togglePage=${selection.togglePage} />
    <${Under}><${Bulk} selection=${selection} jobs=${walk.items} states=${states} filter=${filter} where=${where} total=${total} done=${walk.start} /><//>
    <${Pages} walk=${walk} query=${query}>
      ${may && !selection.all && !selection.ids.size && walk.items.length > 0 && html`<${SelectAll} selection=${selection} total=${total} />`}<//>`;
}
