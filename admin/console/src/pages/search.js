// Jobs of all tubes, or of those that a pattern matches.
import { pathWith } from "../api.js";
import { describe, flagsOf, isFiltered, membersOf, parametersOf } from "../filters.js";
import { STATES, count, shellWord } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { server } from "../live_state.js";
import { Chips } from "../parts/filter.js";
import { JobList, useJobs } from "../parts/job_list.js";
import { Page } from "../parts/page.js";
import { Empty, Icon, Meter } from "../parts/small.js";
import { go, jobLink, setQuery } from "../route.js";
import { hasBodies } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { patternOf } from "./tubes.js";

const COLUMNS = { delayed: S.jobsDue, reserved: S.jobsTtrLeft };

const isAsked = (query) => isFiltered(query) || Boolean(query.state || query.tube_match);

function statesOf(query) {
  const states = (query.state ?? "").split(",").filter((state) => STATES.includes(state));
  return states.length ? states : STATES;
}

function Form({ query, walk }) {
  const [text, setText] = useState(query.text ?? "");
  const [tubes, setTubes] = useState(query.tube_match ?? "");
  const [states, setStates] = useState(statesOf(query));
  useEffect(() => {
    setText(query.text ?? "");
    setTubes(query.tube_match ?? "");
    setStates(statesOf(query));
  }, [query.text, query.tube_match, query.state]);
  const toggle = (state) => setStates((old) => (old.includes(state) ? old.filter((one) => one !== state) : [...old, state]));
  const run = (event) => {
    event.preventDefault();
    const before = location.hash;
    setQuery({ text: text || null, tube_match: tubes || null, state: STATES.filter((state) => states.includes(state)).join() || STATES.join(), cursor: null });
    if (location.hash === before) walk.start();
  };
  return html`<form class="filter" role="search" onSubmit=${run}>
    <input type="search" placeholder=${hasBodies() ? S.searchText : S.searchId} aria-label=${hasBodies() ? S.filterLabels.text : S.searchId}
      data-filter data-testid="search-text" value=${text} onInput=${(event) => setText(event.target.value)} />
    <input placeholder=${S.searchTubes} aria-label=${S.searchTubesLabel} data-testid="search-tube" value=${tubes} onInput=${(event) => setTubes(event.target.value)} />
    <div class="group" role="group" aria-label=${S.jobsState}>${STATES.map((state) => html`<button type="button" class="btn small" key=${state}
      aria-pressed=${String(states.includes(state))} onClick=${() => toggle(state)}>${S.statesUpper[state]}</button>`)}</div>
    <button class="btn main" data-testid="search-run"><${Icon} name="search" />${S.nav.search}</button>
    ${/^\d{1,16}$/.test(text) && html`<button type="button" class="btn small" onClick=${() => go(jobLink(text))}>${S.searchOpen(text)}</button>`}
    <${Chips} query=${{ ...query, text: null }} /></form>`;
}

function Progress({ walk, total }) {
  const { running, scanned, items } = walk;
  return html`<div class="filter" role="status">${running && html`<${Meter} share=${total ? scanned / total : 0} />`}
    <span class="dim">${S.searchProgress(count(scanned), count(total), count((items ?? []).length))}${walk.stopped ? ` ${S.searchStopped}` : ""}</span>
    ${running && html`<button type="button" class="btn small" data-testid="search-stop" onClick=${walk.stop}>${S.stop}</button>`}</div>`;
}

export function Search({ query }) {
  const now = useStore(server);
  const total = now ? STATES.reduce((sum, state) => sum + now.jobs[state], 0) : 0;
  const states = statesOf(query);
  const pattern = patternOf(query.tube_match);
  const listed = { ...parametersOf(query), state: states.length < STATES.length ? states.join() : null, tube_match: pattern };
  const asked = isAsked(query);
  const walk = useJobs(asked ? "jobs" : null, { ...listed, preview: hasBodies() ? 1 : null, max_scan: 50000, cursor: query.cursor });
  const filter = { ...membersOf(query), state: states, ...(pattern ? { tube_match: pattern } : { all_tubes: true }) };
  const where = S.searchWhere(states.map((state) => S.states[state]).join(", "), query.tube_match, describe(query));
  const flags = `${states.length < STATES.length ? ` --state ${states.join()}` : ""}${flagsOf(query)}${hasBodies() ? " --preview" : ""}`;
  const empty = html`<${Empty} icon="search" title=${S.searchNone} testid="jobs-empty"><span>${S.searchNoneText}</span>
    <a class="btn" href="#/jobs" data-testid="filter-clear">${S.filterClear}</a><//>`;
  return html`<${Page} name="search" title=${S.nav.search} api=${pathWith("jobs", listed)} ctl=${`jobs${flags}${pattern ? ` # ${S.searchInTubes} ${shellWord(pattern)}` : ""}`}>
    <div class="head"><h1>${S.nav.search}</h1><span class="dim">${S.searchEverywhere}</span></div>
    <section class="panel"><${Form} query=${query} walk=${walk} />${asked && html`<${Progress} walk=${walk} total=${total} />
      <${JobList} walk=${walk} query=${query} filter=${filter} states=${states} where=${where}
        columns=${{ where: true, worker: states.join() === "reserved", due: states.length === 1 ? COLUMNS[states[0]] : null, preview: hasBodies() }} empty=${empty} />`}
      ${!asked && html`<${Empty} icon="search" title=${S.searchBegin}><span>${hasBodies() ? S.searchBeginText : S.searchBeginWithoutBodies}</span><//>`}</section><//>`;
}
