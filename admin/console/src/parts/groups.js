// The groups of a tube: whose jobs wait, how many run, and what holds a group back.
import { pathWith, useAsk } from "../api.js";
import { count, duration } from "../format.js";
import { html } from "../html.js";
import { setQuery, tubeLink } from "../route.js";
import * as S from "../strings.js";
import { Empty, Loading, Mix, Name, Num, Sized, Trouble } from "./small.js";
import { Heading } from "./tube_table.js";

const PAGE = 50;
const EVERY = 10;  // seconds
const NUMBERS = ["ready", "reserved", "delayed", "handed_out", "oldest"];

// How the query of the address sorts them.
export function groupsOrder({ sort = "ready", order }) {
  return { sort, order: order ?? (sort === "name" ? "asc" : "desc") };
}

const sizeOf = (group) => group.ready + group.reserved + group.delayed;

function Row({ group, tube, largest }) {
  const to = (state) => tubeLink(tube.ref, { state, group: group.name ?? "" });
  const number = (name) => html`<td class=${group[name] ? "n" : "n zero"} data-label=${S.groupNumbers[name]}><${Num} value=${group[name]} /></td>`;
  return html`<tr data-testid="group-row" data-row><td class="title named"><a href=${to("ready")} data-open>${group.name === null
    ? html`<span class="dim">${S.groupNone}</span>` : html`<${Name} text=${group.name} />`}</a>
      ${group.held_back && html` <span class="tag warn">${S.groupHeldBack[group.held_back] ?? group.held_back}</span>`}</td>
    <td class="full"><${Sized} share=${sizeOf(group) / largest}><${Mix} jobs=${group} to=${to} /><//></td>
    ${["ready", "reserved", "delayed", "handed_out"].map(number)}
    <td class=${group.ready ? "n" : "n zero"} data-label=${S.groupNumbers.oldest}>${group.ready ? duration(group.oldest_ready_age_seconds) : "–"}</td></tr>`;
}

export function Groups({ tube, query }) {
  const { sort, order } = groupsOrder(query);
  const { data, problem, reload } = useAsk(pathWith(`tubes/${tube.ref}/groups`, { sort, order, limit: PAGE, cursor: query.cursor }), { every: EVERY });
  if (problem) return html`<div class="pad"><${Trouble} problem=${problem} reload=${reload} /></div>`;
  if (!data) return html`<${Loading} />`;
  if (!data.items.length) return html`<${Empty} title=${S.groupsNone} testid="groups-empty"><span>${S.groupsNoneText}</span><//>`;
  const choose = (by) => setQuery({ sort: by, cursor: null, order: sort === by ? (order === "desc" ? "asc" : "desc") : null });
  const heading = (name, text) => html`<${Heading} key=${name} name=${name} text=${text} sort=${{ by: sort, order, choose }} number=${name !== "name"} testid=${`sort-${name}`} />`;
  const largest = Math.max(1, ...data.items.map(sizeOf));
  return html`<table class="cards tight" data-testid="groups-table"><thead><tr>${heading("name", S.groupName)}<th scope="col">${S.tubeJobs}</th>
      ${NUMBERS.map((name) => heading(name, S.groupNumbers[name]))}</tr></thead>
    <tbody>${data.items.map((group) => html`<${Row} key=${group.name ?? ""} group=${group} tube=${tube} largest=${largest} />`)}</tbody></table>
    <div class="more"><span>${S.tubesShown(count(data.items.length), count(data.total))}</span><span class="grow"></span>
      ${query.cursor && html`<button type="button" class="btn small" onClick=${() => setQuery({ cursor: null })}>${S.jobsFirst}</button>`}
      <button type="button" class="btn small" data-testid="groups-next" disabled=${!data.next} onClick=${() => setQuery({ cursor: data.next })}>${S.next}</button></div>`;
}
