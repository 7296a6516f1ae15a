// What failed: buried and dead jobs of all tubes, in groups of a tube and a cause, and the newest first.
import { pathWith, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { count, duration, instant, secondsOf, shellWord, visible } from "../format.js";
import { html } from "../html.js";
import { BulkMatching } from "../parts/bulk.js";
import { Page } from "../parts/page.js";
import { Choice, Empty, Icon, Loading, Name, Spark, Trouble } from "../parts/small.js";
import { jobLink, namedBy, refOfName, setQuery, tubeLink } from "../route.js";
import { can } from "../session.js";
import * as S from "../strings.js";
import { patternOf } from "./tubes.js";

const PAGE = 50;
const EVERY = 10;  // seconds

const causeOf = ({ cause }) => S.causes[cause ?? "none"] ?? cause;
const agoOf = (at) => (at ? S.ago(duration(Math.max(0, (Date.now() - Date.parse(at)) / 1000))) : "–");

// The words of the query that choose a group; null: every group.
const ALL = { tube: null, tube_base64: null, cause: null, origin: null, cursor: null };
const wordsFor = (group) => ({ ...namedBy({ name: group.tube, ref: group.tube_ref }), cause: group.cause ?? "none", origin: group.origin ?? "" });
const isChosen = (group, query) => Object.entries(wordsFor(group)).every(([word, value]) => query[word] === value);

// What an operation acts on: all failures of the group, none of another origin.
function filterOf(group, since, state) {
  const within = since ? { failed_within_seconds: secondsOf(since) } : {};
  const words = wordsFor(group);
  return { ...words, state, cause: [words.cause], ...within };
}

function GroupRow({ group, since, chosen, done }) {
  const where = S.failuresWhere(causeOf(group), group.tube, group.origin);
  const ask = (action, state) => openDialog(BulkMatching, { action, filter: filterOf(group, since, state), where, done });
  return html`<tr data-testid="failure-group" data-row data-cause=${group.cause ?? "none"} class=${chosen ? "on" : ""}>
    <td class="title named"><a href=${tubeLink(group.tube_ref, { state: "buried" })} data-open><${Name} text=${group.tube} /></a>
      ${group.origin && html` <small class="dim">${S.failuresFrom} <${Name} text=${group.origin} /></small>`}</td>
    <td data-label=${S.failuresCause}>${causeOf(group)}</td>
    <td class="n buried" data-label=${S.failuresCount}>${count(group.count)}</td>
    <td class="spark full"><${Spark} values=${group.per_step} state="buried" /></td>
    <td class="n" data-label=${S.failuresFirst} title=${instant(group.first_failed_at)}>${agoOf(group.first_failed_at)}</td>
    <td class="n" data-label=${S.failuresLast} title=${instant(group.last_failed_at)}>${agoOf(group.last_failed_at)}</td>
    <td class="acts full"><button type="button" class="btn small" data-testid="group-show" aria-pressed=${String(chosen)}
        onClick=${() => setQuery({ ...ALL, ...(!chosen && wordsFor(group)) })}>${S.failuresShow}</button>${" "}
      ${can("job.kick") && group.buried > 0 && html`<button type="button" class="btn small" data-testid="group-retry" onClick=${() => ask("kick", ["buried"])}>${S.failuresRetry(count(group.buried))}</button> `}
      ${can("job.delete") && html`<button type="button" class="btn small bad" data-testid="group-delete"
        onClick=${() => ask("delete", group.origin ? ["buried", "ready", "delayed"] : ["buried"])}>${S.failuresDelete(count(group.count))}</button>`}</td></tr>`;
}

const Head = ({ columns, numbers }) => html`<thead><tr>${columns.map((text) => html`<th scope="col" key=${text} class=${numbers.includes(text) ? "n" : ""}>${text
  || html`<span class="sr">${S.acts}</span>`}</th>`)}</tr></thead>`;

function Groups({ data, query, done }) {
  return html`<section class="panel"><header><h2>${S.failuresGroups}</h2>${data.groups_total > data.groups.length && html`<span class="dim">${S.tubesShown(count(data.groups.length), count(data.groups_total))}</span>`}</header>
    <table class="cards tight" data-testid="failure-groups"><${Head} columns=${S.failuresGroupColumns} numbers=${S.failuresGroupNumbers} />
    <tbody>${data.groups.map((group) => html`<${GroupRow} key=${`${group.tube_ref} ${group.cause} ${group.origin}`} group=${group} since=${query.since} done=${done}
      chosen=${isChosen(group, query)} />`)}</tbody></table></section>`;
}

function Row({ job }) {
  return html`<tr data-testid="failure-row" data-row data-id=${job.id}>
    <td class="nowrap" data-label=${S.failuresAt} title=${instant(job.failed_at)}>${agoOf(job.failed_at)}</td>
    <td class="mono" data-label=${S.jobsJob}><a href=${jobLink(job.id)} data-open>${job.id}</a></td>
    <td class="named full"><a href=${tubeLink(job.tube_ref, { state: job.state })}><${Name} text=${job.tube} /></a></td>
    <td data-label=${S.failuresCause}>${causeOf(job)}</td>
    <td class="full text">${job.cause_text ? html`<span class="mono">${visible(job.cause_text)}</span>` : html`<span class="dim">–</span>`}</td>
    <td class="n" data-label=${S.jobOptional.attempts}>${S.jobAttempts(job.attempts || job.reserves, job.max_attempts)}</td>
    <td class="named" data-label=${S.jobOptional.origin}>${job.origin ? html`<a href=${tubeLink(refOfName(job.origin))}><${Name} text=${job.origin} /></a>` : "–"}</td></tr>`;
}

function Jobs({ data, query }) {
  return html`<section class="panel"><header><h2>${S.failuresJobs}</h2></header><table class="cards tight" data-testid="failures-table">
    <${Head} columns=${S.failuresColumns} numbers=${S.failuresNumbers} /><tbody>${data.items.map((job) => html`<${Row} key=${job.id} job=${job} />`)}</tbody></table>
    <div class="more"><span>${S.tubesShown(count(data.items.length), count(data.matched))}</span><span class="grow"></span>
      ${query.cursor && html`<button type="button" class="btn small" onClick=${() => setQuery({ cursor: null })}>${S.jobsFirst}</button>`}
      <button type="button" class="btn small" data-testid="failures-next" disabled=${!data.next} onClick=${() => setQuery({ cursor: data.next })}>${S.next}</button></div></section>`;
}

function Filter({ query }) {
  const submit = (event) => {
    event.preventDefault();
    setQuery({ match: event.target.elements.match.value || null, tube: null, tube_base64: null, origin: null, cursor: null });
  };
  return html`<form class="filter panel" role="search" onSubmit=${submit}><${Choice} label=${S.failuresSince} value=${query.since ?? ""} choices=${S.failuresChoices}
      choose=${(since) => setQuery({ since: since || null, cursor: null })} />
    <input type="search" name="match" key=${query.match} defaultValue=${query.match ?? ""} data-filter data-testid="failures-match" placeholder=${S.searchTubes} aria-label=${S.searchTubesLabel} />
    <select aria-label=${S.failuresCause} data-testid="failures-cause" value=${query.cause ?? ""} onChange=${(event) => setQuery({ cause: event.target.value || null, cursor: null })}>
      <option value="">${S.failuresAnyCause}</option>${Object.entries(S.causes).map(([cause, text]) => html`<option key=${cause} value=${cause}>${text}</option>`)}</select>
    <button class="btn small"><${Icon} name="search" />${S.filterApply}</button>
    ${[query.match, query.tube, query.tube_base64, query.cause].some(Boolean) && html`<button type="button" class="btn small" data-testid="filter-clear"
      onClick=${() => setQuery({ ...ALL, match: null })}>${S.filterClear}</button>`}</form>`;
}

export function Failures({ query }) {
  const { since, match, tube, tube_base64: bytes, cause, origin, cursor } = query;
  const words = { since, tube, tube_base64: bytes, tube_match: tube || bytes ? null : patternOf(match), cause, origin };
  const api = pathWith("failures", { ...words, limit: PAGE, cursor });
  const { data, problem, reload } = useAsk(api, { every: cursor ? 0 : EVERY });
  const glob = tube?.replace(/[*?[\\]/g, "\\$&") ?? patternOf(match);
  const ctl = `failures${since ? ` --since ${since}` : ""}${glob ? ` --tube ${shellWord(glob)}` : ""}${cause ? ` --cause ${cause}` : ""}${origin ? ` --origin ${shellWord(origin)}` : ""}`;
  const body = () => {
    if (problem) return html`<${Trouble} problem=${problem} reload=${reload} />`;
    if (!data) return html`<${Loading} />`;
    if (!data.matched) return html`<section class="panel"><${Empty} title=${S.failuresNone} testid="failures-empty"><span>${S.failuresNoneText}</span><//></section>`;
    return html`${data.groups.length > 0 && html`<${Groups} data=${data} query=${query} done=${reload} />`}<${Jobs} data=${data} query=${query} />`;
  };
  return html`<${Page} name="failures" title=${S.nav.failures} api=${api} ctl=${ctl}>
    <div class="head"><h1>${S.nav.failures}</h1>${data && html`<span class="dim" data-testid="failures-count">${count(data.matched)}</span>`}</div>
    <${Filter} query=${query} />${body()}<//>`;
}
