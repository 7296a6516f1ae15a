// Who did what: the last acts, newest first, filtered here because there are 2100 at most.
import { ask } from "../api.js";
import { count, instant } from "../format.js";
import { html, useCallback, useEffect, useState } from "../html.js";
import { useEvents } from "../live.js";
import { opened } from "../live_state.js";
import { Page } from "../parts/page.js";
import { Empty, Loading, Name, Trouble } from "../parts/small.js";
import { jobLink, link, setQuery } from "../route.js";
import { hasRole, seesAll } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const MOST = 2100;
const PAGE = 500;

async function loadAll() {
  let [items, cursor] = [[], null];
  do {
    const page = await ask("GET", `audit?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ""}`);
    items = items.concat(page.items);
    cursor = page.next;
  } while (cursor && items.length < MOST);
  return items;
}

function useAudit(allowed) {
  const [state, set] = useState({ items: null, problem: null });
  const again = useStore(opened);
  const load = useCallback(() => {
    if (allowed) loadAll().then((items) => set({ items, problem: null }), (problem) => set({ items: null, problem }));
  }, [allowed]);
  useEffect(load, [load, again]);
  const hear = useCallback((type, entry) => {
    if (type !== "audit") return;
    set((old) => ({ ...old, items: [entry, ...(old.items ?? []).filter((one) => one.id !== entry.id)].slice(0, MOST) }));
  }, []);
  useEvents(allowed ? ["audit"] : [], [], hear);
  return { ...state, load };
}

function filterText(filter) {
  return filter ? (typeof filter === "string" ? filter : Object.entries(filter).map(([name, value]) => `${name}=${value}`).join(" ")) : "";
}

function textOf(entry) {
  return [entry.user, entry.role, entry.address, entry.action, entry.tube, entry.job, filterText(entry.filter), entry.result, entry.request_id].join(" ").toLowerCase();
}

function Row({ entry }) {
  const what = [entry.job != null && html`<a href=${jobLink(entry.job)}>${S.jobTitle(entry.job)}</a>`, filterText(entry.filter) && html`<${Name} text=${filterText(entry.filter)} />`,
    entry.count != null && S.auditJobs(count(entry.count)), entry.times > 1 && S.auditTimes(count(entry.times))].filter(Boolean);
  return html`<tr data-testid="audit-row" data-row tabindex="-1"><td class="mono nowrap" data-label=${S.auditAt} title=${entry.request_id}>${instant(entry.at).slice(0, 19)}</td>
    <td class="title"><b><${Name} text=${entry.user ?? "-"} /></b> <span class="dim">${entry.role ?? ""}</span></td><td class="mono" data-label=${S.auditFrom}><${Name} text=${entry.address ?? ""} /></td>
    <td class="mono" data-label=${S.auditAct}>${entry.action}</td><td class="full mono">${entry.tube ? html`<${Name} text=${entry.tube} />` : ""}</td>
    <td class="full">${what.map((part, index) => html`${index ? ", " : ""}${part}`)}</td>
    <td><span class=${`tag ${entry.result === "ok" ? "ok" : "bad"}`}>${entry.result}</span></td></tr>`;
}

function Table({ items }) {
  return html`<table class="cards"><thead><tr>${S.auditColumns.map((text) => html`<th scope="col" key=${text}>${text}</th>`)}</tr></thead>
    <tbody>${items.map((entry) => html`<${Row} key=${entry.id} entry=${entry} />`)}</tbody></table>
    <div class="more">${S.auditShown(count(items.length))}</div>`;
}

export function Audit({ query }) {
  const allowed = hasRole("operator") && seesAll();
  const { items, problem, load } = useAudit(allowed);
  const words = (query.match ?? "").toLowerCase().split(/\s+/).filter(Boolean);
  const shown = items?.filter((entry) => words.every((word) => textOf(entry).includes(word)));
  const body = () => {
    if (!allowed) return html`<${Empty} icon="lock" title=${S.auditForbidden}><span>${S.auditForbiddenText}</span><//>`;
    if (problem) return html`<div class="pad"><${Trouble} problem=${problem} reload=${load} /></div>`;
    if (!shown) return html`<${Loading} />`;
    if (shown.length) return html`<${Table} items=${shown} />`;
    return items.length ? html`<${Empty} icon="search" title=${S.auditNoMatch}><a class="btn" data-testid="filter-clear" href=${link("audit")}>${S.filterClear}</a><//>`
      : html`<${Empty} title=${S.auditNone}><span>${S.auditNoneText}</span><//>`;
  };
  return html`<${Page} name="audit" title=${S.nav.audit} api="audit" ctl="audit">
    <div class="head"><h1>${S.nav.audit}</h1><span class="dim">${S.auditNote}</span></div>
    <section class="panel"><form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}><input type="search" data-filter data-testid="audit-match"
      placeholder=${S.auditMatch} aria-label=${S.auditMatch} value=${query.match ?? ""} onInput=${(event) => setQuery({ match: event.target.value || null }, { replace: true })} /></form>
      ${body()}</section><//>`;
}
