// Who is connected: workers first, with what they run now.
import { ask, pathWith, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { count, duration } from "../format.js";
import { html, useMemo } from "../html.js";
import { server } from "../live_state.js";
import { Confirm } from "../parts/dialog.js";
import { Page } from "../parts/page.js";
import { Choice, Empty, Icon, Loading, Name, Trouble } from "../parts/small.js";
import { jobLink, link, setQuery } from "../route.js";
import { can, seesAll } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { act } from "../toast.js";

const EVERY = 5;   // seconds
const PAGE = 100;

function secondsSince(at) {
  return at ? Math.max(0, (Date.now() - Date.parse(at)) / 1000) : null;
}

function doing(connection) {
  if (!connection.protocol) return S.connectionsSilent;
  if (connection.waiting) return S.connectionsWaits;
  if (connection.holds) return S.connectionsBusy;
  return connection.roles.includes("producer") && connection.uses ? S.connectionsPuts(connection.uses) : S.connectionsIdle;
}

function Runs({ connection, jobs }) {
  if (!connection.holds) return "–";
  if (!jobs?.length) return html`<a href=${link("jobs", { holder: connection.id, state: "reserved" })}>${S.connectionsJobs(count(connection.holds))}</a>`;
  return html`<span>${jobs.slice(0, 3).map((job, index) => html`${index ? ", " : ""}<a class="reserved" href=${jobLink(job.id)}>${job.id}</a>`)}
    ${connection.holds > 3 && html` <a href=${link("jobs", { holder: connection.id, state: "reserved" })}>${S.connectionsAll(count(connection.holds))}</a>`}</span>`;
}

function Takes({ connection }) {
  const { watches } = connection;
  if (!watches.length) return "–";
  const hidden = connection.watches_total - 3;
  return html`<span>${watches.slice(0, 3).map((name, index) => html`${index ? ", " : ""}<${Name} text=${name} />`)}${hidden > 0 ? ` ${S.connectionsMore(count(hidden))}` : ""}</span>`;
}

function askDisconnect(connection, done) {
  openDialog(Confirm, { title: S.connectionsCloseTitle(S.client(connection)), text: S.connectionsCloseText(count(connection.holds)),
    ok: S.connectionsDisconnect, run: () => act(() => ask("DELETE", `connections/${connection.id}`), S.connectionsClosed(S.client(connection)))
      .then((ok) => {
        if (ok) done();
        return ok;
      }) });
}

function Row({ connection, jobs, done }) {
  return html`<tr data-testid="connection-row" data-row data-id=${connection.id} tabindex="-1"><td class="title mono from"><${Name} text=${connection.client_id || `#${connection.id}`} /></td>
    <td class="mono full" data-label=${S.connectionsAddress}><${Name} text=${connection.address} /></td>
    <td data-label=${S.connectionsProtocol}>${connection.protocol ?? "–"}${connection.tls ? html` <span class="tag">TLS</span>` : ""}</td>
    <td data-label=${S.connectionsRole}>${connection.roles.map((role) => S.connectionsRoles[role] ?? role).join(", ") || "–"}</td>
    <td class="full" data-label=${S.connectionsTakes}><${Takes} connection=${connection} /></td><td class="mono" data-label=${S.connectionsRuns}><${Runs} connection=${connection} jobs=${jobs} /></td>
    <td data-label=${S.connectionsDoes}>${doing(connection)}</td>
    <td class="n" data-label=${S.connectionsSince}>${duration(secondsSince(connection.connected_at))}</td>
    <td class="n" data-label=${S.connectionsQuiet}>${duration(connection.idle_seconds)}</td>
    <td class="acts full">${can("connection.close") && html`<button type="button" class="btn small bad" data-testid="disconnect"
      onClick=${() => askDisconnect(connection, done)}>${S.connectionsDisconnect}</button>`}</td></tr>`;
}

// The jobs that are reserved, by the connection that holds them.
function useHeld(any) {
  const { data } = useAsk(any ? "jobs?state=reserved&limit=500" : null, { every: EVERY });
  return useMemo(() => {
    const held = new Map();
    for (const job of data?.items ?? []) {
      if (!job.holder) continue;
      held.set(job.holder.connection, [...(held.get(job.holder.connection) ?? []), job]);
    }
    return held;
  }, [data]);
}

const rank = (connection) => (connection.roles.includes("worker") ? 0 : connection.roles.length ? 1 : 2);

function Table({ items, held, done }) {
  const sorted = [...items].sort((a, b) => rank(a) - rank(b) || a.id - b.id);
  return html`<table class="cards" data-testid="connections-table"><thead><tr>${S.connectionsColumns.map((text) => html`<th scope="col" key=${text}
      class=${S.connectionsNumbers.includes(text) ? "n" : ""}>${text}</th>`)}<th scope="col"><span class="sr">${S.acts}</span></th></tr></thead>
    <tbody>${sorted.map((connection) => html`<${Row} key=${connection.id} connection=${connection} jobs=${held.get(connection.id)} done=${done} />`)}</tbody></table>`;
}

function Filter({ query }) {
  const submit = (event) => {
    event.preventDefault();
    const fields = event.target.elements;
    setQuery({ address: fields.address.value || null, tube: fields.tube.value || null, id: null, cursor: null });
  };
  const any = query.address || query.tube || query.role || query.id;
  return html`<form class="filter" role="search" onSubmit=${submit}>
    <input type="search" name="address" key=${`a${query.address}`} defaultValue=${query.address ?? ""} placeholder=${S.connectionsByAddress} aria-label=${S.connectionsByAddress} data-filter />
    <input name="tube" key=${`t${query.tube}`} defaultValue=${query.tube ?? ""} placeholder=${S.connectionsByTube} aria-label=${S.connectionsByTube} />
    <button class="btn small"><${Icon} name="search" />${S.filterApply}</button>
    <${Choice} label=${S.connectionsRole} value=${query.role ?? ""} choices=${S.connectionsChoices} choose=${(role) => setQuery({ role: role || null, cursor: null })} />
    ${any && html`<a class="btn small" href="#/connections" data-testid="filter-clear">${S.filterClear}</a>`}</form>`;
}

export function Connections({ query }) {
  const now = useStore(server);
  const allowed = seesAll();
  const api = query.id ? `connections/${encodeURIComponent(query.id)}`
    : pathWith("connections", { role: query.role, address: query.address, tube: query.tube, limit: PAGE, cursor: query.cursor });
  const { data, problem, reload } = useAsk(allowed ? api : null, { every: EVERY });
  const items = data ? data.items ?? [data] : null;
  const held = useHeld(items?.some((connection) => connection.holds > 0));
  const body = () => {
    if (!allowed) return html`<${Empty} icon="lock" title=${S.connectionsForbidden}><span>${S.connectionsForbiddenText}</span><//>`;
    if (problem?.status === 404) return html`<${Empty} title=${S.connectionsGone}><span>${S.connectionsGoneText}</span><//>`;
    if (problem) return html`<div class="pad"><${Trouble} problem=${problem} reload=${reload} /></div>`;
    if (!items) return html`<${Loading} />`;
    if (!items.length) return html`<${Empty} title=${S.connectionsNone}><span>${S.connectionsNoneText}</span><//>`;
    return html`<${Table} items=${items} held=${held} done=${reload} /><div class="more"><span>${S.tubesShown(count(items.length), count(data.total ?? 1))}</span><span class="grow"></span>
      ${query.cursor && html`<button type="button" class="btn small" onClick=${() => setQuery({ cursor: null })}>${S.jobsFirst}</button>`}
      <button type="button" class="btn small" disabled=${!data.next} onClick=${() => setQuery({ cursor: data.next })}>${S.next}</button></div>`;
  };
  return html`<${Page} name="connections" title=${S.nav.connections} api=${api} ctl=${query.role === "worker" ? "workers" : `connections${query.role ? ` --role ${query.role}` : ""}`}>
    <div class="head"><h1>${S.nav.connections}</h1>${now && html`<span class="dim">${S.connectionsSummary(count(now.connections.open), count(now.connections.workers), count(now.connections.waiting))}</span>`}</div>
    <section class="panel"><${Filter} query=${query} />${body()}</section><//>`;
}
