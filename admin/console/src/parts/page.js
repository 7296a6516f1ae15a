// The frame of all pages: the bar with the state of the stream, notices, the page, and the foot with
// the API path and the shell line of what is shown.
import { apiRoot, ask } from "../api.js";
import { openDialog } from "../dialogs.js";
import { count, duration } from "../format.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "../html.js";
import { connect, togglePause } from "../live.js";
import { live, server } from "../live_state.js";
import { dense, theme, toggleDense, toggleTheme } from "../preferences.js";
import { can } from "../session.js";
import { Store, useStore } from "../store.js";
import * as S from "../strings.js";
import { act, copyText } from "../toast.js";
import { Help } from "./help.js";
import { RunningOperations } from "./operations.js";
import { Icon, Name } from "./small.js";

// Draws again each second while `on`.
export function useSeconds(on) {
  const [now, set] = useState(performance.now());
  useEffect(() => {
    if (!on) return undefined;
    set(performance.now());
    const timer = setInterval(() => set(performance.now()), 1000);
    return () => clearInterval(timer);
  }, [on]);
  return now;
}

function ageOf(state, now) {
  return state.at === null ? null : Math.max(0, Math.round((now - state.at) / 1000));
}

function Live() {
  const state = useStore(live);
  const now = useSeconds(state.state !== "live");
  const age = ageOf(state, now);
  const text = state.state === "lost" && age === null ? S.liveConnecting
    : S.liveStates[state.state](age === null ? null : duration(age));
  return html`<button type="button" class="plain live" data-testid="live" data-live=${state.state} onClick=${togglePause}
    title=${state.state === "paused" ? S.liveResume : S.livePause}><i></i>${text}</button>`;
}

function LostNote() {
  const state = useStore(live);
  const now = useSeconds(state.state === "lost");
  const age = ageOf(state, now);
  if (state.state !== "lost" || !state.retryAt || (age !== null && age < 3)) return null;
  const wait = Math.max(0, Math.ceil((state.retryAt - now) / 1000));
  return html`<div class="note bad" role="status"><span class="grow"><b>${S.liveLostTitle}</b> ${S.liveLostText(age === null ? null : duration(age), wait)}</span>
    <button type="button" class="btn small" onClick=${connect}>${S.liveTryNow}</button></div>`;
}

export function setDraining(draining) {
  return act(() => ask("PUT", "server/draining", { body: { draining } }).then(() => ask("GET", "server")).then((now) => server.set(now)),
    draining ? S.drainDone : S.drainUndone);
}

function BrokerNotes() {
  const now = useStore(server);
  if (!now) return null;
  return html`${now.draining && html`<div class="note" data-testid="draining"><span class="grow"><b>${S.drainTitle}</b> ${S.drainText(count(now.jobs.reserved))}</span>
      ${can("server.drain") && html`<button type="button" class="btn small" data-testid="undrain" onClick=${() => setDraining(false)}>${S.drainUndo}</button>`}</div>`}
    ${now.journal?.failed && html`<div class="note bad"><span class="grow"><b>${S.journalFailedTitle}</b> ${S.journalFailedText}</span></div>`}
    ${now.journal?.full && html`<div class="note bad"><span class="grow"><b>${S.journalFullTitle}</b> ${S.journalFullText}</span></div>`}
    ${!now.ready && !now.draining && html`<div class="note bad"><span class="grow"><b>${S.notReady}</b> ${now.not_ready_reason}</span></div>`}`;
}

function Bar({ crumbs }) {
  const role = useStore(server)?.replica;
  const isDense = useStore(dense);
  const dark = useStore(theme) === "dark";
  return html`<header class="bar"><div class="crumb">${crumbs.map(([text, href]) =>
      href ? html`<a href=${href}><${Name} text=${text} /></a><span>/</span>` : html`<b><${Name} text=${text} /></b>`)}</div>
    ${role && html`<span class="tag" title=${S.replicaTitle(role)}>${S.replicaRole[role.role] ?? role.role}</span>`}<span class="grow"></span><${Live} />
    <button type="button" class="btn icon hide" title=${S.denseTitle} aria-label=${S.denseTitle} aria-pressed=${String(isDense)} onClick=${toggleDense}><${Icon} name="dense" /></button>
    <button type="button" class="btn icon hide" title=${S.helpButton} aria-label=${S.helpButton} onClick=${() => openDialog(Help)}><${Icon} name="keys" /></button>
    <button type="button" class="btn icon" data-testid="theme" title=${S.themeTitle} aria-label=${S.themeTitle} aria-pressed=${String(dark)} onClick=${toggleTheme}><${Icon} name="theme" /></button></header>`;
}

function Line({ name, testid, text }) {
  return html`<span>${name} <code data-testid=${testid}>${text}</code><button type="button" class="btn small icon"
    title=${S.copyLine(name)} aria-label=${S.copyLine(name)} onClick=${() => copyText(text)}><${Icon} name="copy" /></button></span>`;
}

const bottom = new Store(null);

// Draws its children under the page, where they do not scroll with it.
export function Under({ children }) {
  useLayoutEffect(() => bottom.set(children));
  useLayoutEffect(() => () => bottom.set(null), []);
  return null;
}

function Bottom() {
  return useStore(bottom);
}

// `api`: the path below /api/v1/ of what is shown; `ctl`: the equal words behind `gearstalkctl`.
export function Page({ name, title, crumbs, api, ctl, children }) {
  const main = useRef(null);
  const serverName = useStore(server)?.server_name;
  useEffect(() => {
    document.title = `${title} · ${serverName || "gearstalkd"}`;
  }, [title, serverName]);
  useEffect(() => {
    main.current.parentElement.scrollTop = 0;
    main.current.focus({ preventScroll: true });
  }, [name, title]);
  return html`<div class="page"><${Bar} crumbs=${crumbs ?? [[title]]} />
    <div class="scroller"><main data-page=${name} ref=${main} tabindex="-1" id="main"><${LostNote} /><${BrokerNotes} />
      ${name !== "overview" && html`<${RunningOperations} />`}${children}</main>
    <footer class="foot"><${Line} name="API" testid="api-path" text=${`GET ${apiRoot.pathname}${api}`} />
      <${Line} name=${S.shell} testid="ctl-line" text=${`gearstalkctl ${ctl}`} /></footer></div><${Bottom} /></div>`;
}
