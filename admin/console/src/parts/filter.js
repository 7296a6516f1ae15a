// The form of a job list's filter, and its chips. It writes the address; the list follows that.
import { CONDITIONS, JSON_OPS, chipsOf, cleared, isFiltered, readFrom, writtenOf } from "../filters.js";
import { visible } from "../format.js";
import { html, useEffect, useState } from "../html.js";
import { setQuery } from "../route.js";
import { hasBodies } from "../session.js";
import * as S from "../strings.js";
import { Icon } from "./small.js";

const FIRST = ["text", "min_reserves"];

function MoreFields({ fields, set }) {
  const rows = CONDITIONS.filter((row) => !FIRST.includes(row.name) && (!row.body || hasBodies()));
  return html`<div class="fields">${rows.map((row) => html`<label key=${row.name}>${S.filterLabels[row.name]}
    ${row.name === "json_op"
      ? html`<select value=${fields.json_op || "eq"} onChange=${set("json_op")}>${JSON_OPS.map((op) => html`<option>${op}</option>`)}</select>`
      : html`<input name=${row.name} value=${fields[row.name]} onInput=${set(row.name)} autocomplete="off"
          inputmode=${row.kind === "number" ? "numeric" : "text"} />`}</label>`)}</div>`;
}

export function Chips({ query }) {
  return chipsOf(query).map((chip) => {
    const text = visible(chip.text);
    return html`<span class="chip" data-testid="chip" key=${chip.names[0]}>${text}<button type="button"
      aria-label=${S.filterRemove(text)} onClick=${() => setQuery({ ...Object.fromEntries(chip.names.map((name) => [name, null])), cursor: null })}>×</button></span>`;
  });
}

export function Filter({ query, children }) {
  const [fields, setFields] = useState(writtenOf(query));
  const [more, setMore] = useState(false);
  const shown = JSON.stringify(writtenOf(query));
  useEffect(() => setFields(JSON.parse(shown)), [shown]);
  const set = (name) => (event) => setFields((old) => ({ ...old, [name]: event.target.value }));
  const apply = (event) => {
    event.preventDefault();
    setQuery({ ...readFrom(fields, query), cursor: null });
  };
  return html`<form class="filter" role="search" onSubmit=${apply}>
    ${hasBodies() && html`<input type="search" placeholder=${S.filterText} aria-label=${S.filterLabels.text} data-filter
      data-testid="filter-text" value=${fields.text} onInput=${set("text")} />`}
    <input class="short" inputmode="numeric" placeholder=${S.filterMinReserves} aria-label=${S.filterLabels.min_reserves}
      data-filter data-testid="filter-min-reserves" value=${fields.min_reserves} onInput=${set("min_reserves")} autocomplete="off" />
    <button class="btn small" data-testid="filter-apply">${S.filterApply}</button>
    <button type="button" class="btn small" aria-expanded=${String(more)} onClick=${() => setMore(!more)}><${Icon} name="plus" />${S.filterMore}</button>
    ${isFiltered(query) && html`<button type="button" class="btn small" data-testid="filter-clear" onClick=${() => setQuery(cleared)}>${S.filterClear}</button>`}
    ${children}${more && html`<${MoreFields} fields=${fields} set=${set} />`}<${Chips} query=${query} /></form>`;
}
