// All tubes: matched, sorted and cut into pages by the server.
import { pathWith, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { count, shellWord } from "../format.js";
import { html, useCallback, useEffect, useRef, useState } from "../html.js";
import { useEvents } from "../live.js";
import { server } from "../live_state.js";
import { Page } from "../parts/page.js";
import { CreateTube } from "../parts/put.js";
import { Choice, Empty, Icon, Loading, Trouble } from "../parts/small.js";
import { NoTubes, TubeTable } from "../parts/tube_table.js";
import { setQuery } from "../route.js";
import { can } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const PAGE = 50;
const EVERY = 10;  // seconds
const TYPING = 300;  // ms without a key

// A name without a wildcard is meant as a part of a name.
export const patternOf = (text) => (text && !/[*?[]/.test(text) ? `*${text}*` : text);

function useTubePage(query) {
  const { match, only, cursor } = query;
  const sort = query.sort ?? "busy";
  const order = query.order ?? (sort === "name" ? "asc" : "desc");
  const api = pathWith("tubes", { match: patternOf(match), sort, order, only, limit: PAGE, cursor });
  const asked = useAsk(api, { every: EVERY });
  const [fresh, setFresh] = useState({});
  const number = useStore(server)?.tubes;
  const known = useRef(number);
  useEffect(() => setFresh({}), [asked.data]);
  useEffect(() => {
    if (known.current !== number) asked.reload();
    known.current = number;
  }, [number]);
  const hear = useCallback((type, tube) => {
    if (type === "tube") setFresh((old) => ({ ...old, [tube.ref]: tube }));
  }, []);
  const items = asked.data?.items.map((tube) => fresh[tube.ref] ?? tube).filter((tube) => !tube.gone);
  useEvents(["tube"], (asked.data?.items ?? []).map((tube) => tube.ref), hear);
  return { ...asked, items, api, sort, order };
}

function Match({ query }) {
  const [text, setText] = useState(query.match ?? "");
  const timer = useRef(null);  // there is one while the address is behind the text
  useEffect(() => {
    if (!timer.current) setText(query.match ?? "");
  }, [query.match]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const type = (event) => {
    const value = event.target.value;
    setText(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = null;
      setQuery({ match: value || null, cursor: null }, { replace: true });
    }, TYPING);
  };
  return html`<form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
    <input type="search" placeholder=${S.tubesMatch} aria-label=${S.tubesMatch} data-filter data-testid="tubes-match" value=${text} onInput=${type} />
    <${Choice} label=${S.tubesOnly} value=${query.only ?? ""} choices=${S.tubesChoices} choose=${(only) => setQuery({ only: only || null, cursor: null })} />
    ${(query.match || query.only) && html`<button type="button" class="btn small" data-testid="filter-clear"
      onClick=${() => setQuery({ match: null, only: null, cursor: null })}>${S.filterClear}</button>`}</form>`;
}

function Body({ page, query }) {
  if (page.problem) return html`<div class="pad"><${Trouble} problem=${page.problem} reload=${page.reload} /></div>`;
  if (!page.items) return html`<${Loading} />`;
  if (!page.items.length && !page.data.next) {
    if (!query.match && !query.only) return html`<${NoTubes} />`;
    return html`<${Empty} icon="search" title=${S.tubesNoMatch} testid="tubes-empty"><span>${S.tubesNoMatchText}</span><//>`;
  }
  const choose = (by) => setQuery({ sort: by, cursor: null,
    order: page.sort === by ? (page.order === "desc" ? "asc" : "desc") : by === "name" ? "asc" : "desc" });
  return html`<${TubeTable} tubes=${page.items} reload=${page.reload} sort=${{ by: page.sort, order: page.order, choose }} />
    <div class="more"><span>${S.tubesShown(count(page.items.length), count(page.data.total))}</span><span class="grow"></span>
      ${query.cursor && html`<button type="button" class="btn small" onClick=${() => setQuery({ cursor: null })}>${S.jobsFirst}</button>`}
      <button type="button" class="btn small" data-testid="tubes-next" disabled=${!page.data.next}
        onClick=${() => setQuery({ cursor: page.data.next })}>${S.next}</button></div>`;
}

export function Tubes({ query }) {
  const page = useTubePage(query);
  const flags = `${query.match ? ` --match ${shellWord(patternOf(query.match))}` : ""} --sort ${page.sort} --order ${page.order}${query.only ? ` --only ${query.only}` : ""}`;
  return html`<${Page} name="tubes" title=${S.nav.tubes} api=${page.api} ctl=${`tubes${flags}`}>
    <div class="head"><h1>${S.nav.tubes}</h1><span class="dim">${page.data ? count(page.data.total) : ""}</span><span class="grow"></span>
      ${can("tube.create") && html`<button type="button" class="btn" onClick=${() => openDialog(CreateTube)}><${Icon} name="plus" />${S.createOk}</button>`}</div>
    <section class="panel"><${Match} query=${query} /><${Body} page=${page} query=${query} /></section><//>`;
}
