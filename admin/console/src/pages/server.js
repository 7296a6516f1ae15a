// The broker itself: versions, limits, journal, refusals; drain and log level.
import { ask, useAsk } from "../api.js";
import { openDialog } from "../dialogs.js";
import { bytes, count, duration, instant } from "../format.js";
import { html, useRef } from "../html.js";
import { server } from "../live_state.js";
import { Confirm } from "../parts/dialog.js";
import { Page, setDraining } from "../parts/page.js";
import { Loading, Meter, Name, Record } from "../parts/small.js";
import { can, hasPath, hasRole, seesAll } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { act } from "../toast.js";

const EVERY = 10;  // seconds
const LEVELS = ["trace", "debug", "info", "warn", "error", "critical", "off"];

const setLevel = (level) => act(() => ask("PUT", "server/log-level", { body: { level } }).then(() => server.patch({ log_level: level })), S.serverLevelDone(level));

const askDrain = (now) => openDialog(Confirm, { title: S.drainAskTitle, text: S.drainAskText(count(now.jobs.reserved)), ok: S.drainButton, run: () => setDraining(true) });

const askStepDown = () => openDialog(Confirm, { title: S.replicaAskTitle, text: S.replicaAskText, ok: S.replicaStepDown,
  run: () => act(() => ask("POST", "server/step-down"), S.replicaDone) });

function lines(addresses) {
  return addresses.map((address) => html`<${Name} text=${address} class="name mono" /><br />`);
}

// CPU a second since the last sample: the share of one CPU.
function useShares(now) {
  const last = useRef({ shares: {} });
  const at = Date.parse(now.now);
  const totals = { loop: now.loop_cpu_seconds_total, ...Object.fromEntries((now.routers ?? []).map((one) => [one.name, one.cpu_seconds_total])) };
  const { at: before, totals: old } = last.current;
  if (at !== before) {
    const shares = old ? Object.fromEntries(Object.entries(totals).map(([name, total]) => [name, ((total - old[name]) * 1000) / (at - before)])) : {};
    last.current = { at, totals, shares };
  }
  return last.current.shares;
}

const percent = (share) => (Number.isFinite(share) ? `${Math.round(share * 100)} %` : S.none);

function Routers({ now, shares }) {
  return now.routers?.length ? html`<section class="panel" data-testid="routers"><header><h2>${S.serverRouters}</h2>
    ${now.router_restarts_total > 0 && html`<span class="tag">${S.serverRestarts(count(now.router_restarts_total))}</span>`}</header>
    <table><thead><tr>${S.serverRouterColumns.map((text, place) => html`<th scope="col" class=${place ? "n" : ""}>${text}</th>`)}</tr></thead>
    <tbody>${now.routers.map((one) => html`<tr key=${one.name} data-testid="router-row"><td>${one.name} <span class="dim">${one.pid ? `pid ${one.pid}` : S.serverRouterGone}</span></td>
      <td class="n">${count(one.connections)}</td><td class="n">${percent(shares[one.name])}</td><td class="n">${count(one.accepted_total)}</td></tr>`)}</tbody></table></section>` : null;
}

function Broker({ now, shares }) {
  return html`<section class="panel"><header><h2>${S.serverBroker}</h2></header><${Record} rows=${[
    [S.serverVersion, html`${now.version}${now.commit && html` <code class="dim">${now.commit.slice(0, 12)}</code>`}`],
    [S.serverName, html`<${Name} text=${now.server_name} /> <span class="dim">pid ${now.pid}</span>`],
    [S.serverStarted, html`${S.ago(duration(now.uptime_seconds))}<br /><span class="dim">${instant(now.started_at)}</span>`],
    [S.serverListens, lines(now.listen)], [S.serverAdmin, lines(now.admin)],
    [S.serverLoop, html`${S.serverLoopText(percent(shares.loop))}<${Meter} share=${shares.loop || 0} />`],
    [S.serverTraffic, `${bytes(now.received_bytes_total)}, ${bytes(now.sent_bytes_total)}`]]} /></section>`;
}

function Journal({ journal }) {
  const kept = journal.sync !== "memory";
  const state = journal.failed ? [S.journalFailed, "bad"] : journal.full ? [S.journalFull, "bad"] : [S.journalHealthy, "ok"];
  return html`<section class="panel"><header><h2>${S.serverJournal}</h2>${kept && html`<span class=${`tag ${state[1]}`}>${state[0]}</span>`}</header>
    ${kept ? html`<${Record} rows=${[[S.journalSync, S.journalSyncText(journal.sync, duration(journal.sync_seconds_p99))],
        [S.journalDisk, S.journalDiskText(bytes(journal.disk_bytes), count(journal.segments))],
        [S.journalLive, html`${bytes(journal.live_bytes)}<${Meter} share=${journal.live_bytes / (journal.disk_bytes || 1)} />`],
        [S.journalWaiting, bytes(journal.waiting_bytes)]]} />` : html`<p class="pad dim">${S.journalMemory}</p>`}</section>`;
}

function Limits({ now }) {
  const { memory, connections } = now;
  const limited = (value, limit, format) => (limit ? html`${format(value)} ${S.ofLimit(format(limit))}<${Meter} share=${value / limit} />` : `${format(value)}, ${S.noLimit}`);
  return html`<section class="panel"><header><h2>${S.serverLimits}</h2></header><${Record} rows=${[
    [S.factsMemory, limited(memory.job_bytes, memory.job_limit_bytes, bytes)], [S.serverResident, bytes(memory.resident_bytes)],
    memory.bodies_limit_bytes ? [S.serverBodies, S.serverBodiesText(bytes(memory.bodies_bytes), bytes(memory.bodies_in_journal_bytes))] : null,
    [S.factsConnections, limited(connections.open, connections.limit, count)],
    [S.serverProtocols, S.serverProtocolsText(count(connections.beanstalk), count(connections.gearman), count(connections.undecided))],
    [S.serverStalled, count(connections.stalled)], [S.serverAccepted, count(connections.accepted_total)], [S.serverTubes, count(now.tubes)],
    now.held_jobs ? [S.serverHeld, count(now.held_jobs)] : null]} /></section>`;
}

function Refused({ refused }) {
  const words = Object.entries(refused ?? {}).filter(([, times]) => times).sort(([, a], [, b]) => b - a);
  return html`<section class="panel"><header><h2>${S.serverRefused}</h2></header><table><thead class="sr"><tr><th scope="col">${S.serverMeaning}</th><th scope="col">${S.serverReason}</th><th scope="col">${S.serverTimes}</th></tr></thead>
    <tbody>${words.map(([word, times]) => html`<tr key=${word} data-testid="refused-row"><td>${S.refusals[word] ?? word}</td><td class="mono dim">${word}</td><td class="n">${count(times)}</td></tr>`)}</tbody></table>
    ${!words.length && html`<p class="pad dim">${S.serverNoRefusals}</p>`}</section>`;
}

function Replica({ replica }) {
  return replica && html`<section class="panel" data-testid="replica"><header><h2>${S.replicaHeading}</h2><span class="tag">${S.replicaRole[replica.role] ?? replica.role}</span><span class="grow"></span>
      ${hasRole("admin") && replica.role === "active" && hasPath("/server/step-down") && html`<button type="button" class="btn small bad" onClick=${askStepDown}>${S.replicaStepDown}…</button>`}</header>
    <${Record} rows=${[[S.replicaEpoch, count(replica.epoch)], [S.replicaLeader, replica.leader ? html`<${Name} text=${`${replica.leader.name} ${replica.leader.address}`} />` : S.none],
      [S.replicaBehind, count(replica.behind_batches)], [S.replicaLease, duration(replica.lease_left_seconds)], [S.replicaTakeovers, count(replica.takeovers_total)]]} /></section>`;
}

const endTransfer = ({ name, ref, held: jobs }, held, done) => openDialog(Confirm, {
  title: `${S.transferEnds[held]} ${name}?`, text: S.transferTexts[held], ok: S.transferEnds[held], count: jobs,
  run: () => act(() => ask("DELETE", `transfers/${ref}${held && `?held=${held}`}`).then(done), `${S.transferEnds[held]}: ${name}`) });

function Transfers() {
  const { data, reload } = useAsk(hasPath("/transfers") && seesAll() ? "transfers" : null, { every: EVERY });
  const button = (one, held) => html` <button type="button" class="btn small" onClick=${() => endTransfer(one, held, reload)}>${S.transferEnds[held]}…</button>`;
  return data?.items.length ? html`<section class="panel" data-testid="transfers"><header><h2>${S.transfersHeading}</h2></header><table><thead><tr>
      ${S.transfersColumns.map((text, place) => html`<th scope="col" class=${place ? "n" : ""}>${text}</th>`)}<th scope="col"><span class="sr">${S.acts}</span></th></tr></thead>
    <tbody>${data.items.map((one) => html`<tr><td><${Name} text=${one.name} class="name mono" /></td>
      <td class="n">${count(one.moved)}</td><td class=${one.held ? "n" : "n zero"}>${count(one.held)}</td>
      <td class="acts">${hasRole("admin") && (one.held ? ["commit", "drop"] : [""]).map((held) => button(one, held))}</td></tr>`)}</tbody></table></section>` : null;
}

export function Server() {
  const now = useStore(server);
  return now ? html`<${Shown} now=${now} />` : html`<${Page} name="server" title=${S.nav.server} api="server" ctl="status --json"><${Loading} /><//>`;
}

function Shown({ now }) {
  const shares = useShares(now);
  const levels = LEVELS.includes(now.log_level) ? LEVELS : [now.log_level, ...LEVELS];
  return html`<${Page} name="server" title=${S.nav.server} api="server" ctl="status --json">
    <div class="head"><h1>${S.nav.server}</h1><span class=${`tag ${now.ready ? "ok" : "bad"}`}>${now.ready ? S.ready : S.notReadyShort}</span><span class="grow"></span>
      ${can("server.log_level") && html`<label class="dim">${S.serverLogLevel} <select data-testid="log-level" value=${now.log_level} onChange=${(event) => setLevel(event.target.value)}>
        ${levels.map((level) => html`<option key=${level} value=${level}>${level}</option>`)}</select></label>`}
      ${can("server.drain") && !now.draining && html`<button type="button" class="btn bad" data-testid="drain" onClick=${() => askDrain(now)}>${S.drainButton}…</button>`}</div>
    <div class="two"><div class="stack"><${Broker} now=${now} shares=${shares} /><${Routers} now=${now} shares=${shares} /><${Limits} now=${now} /></div>
      <div class="stack"><${Journal} journal=${now.journal} /><${Replica} replica=${now.replica} /><${Transfers} /><${Refused} refused=${now.refused} /></div></div><//>`;
}
