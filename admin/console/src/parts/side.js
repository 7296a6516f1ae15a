import { ask, loadSession } from "../api.js";
import { count } from "../format.js";
import { html } from "../html.js";
import { server } from "../live_state.js";
import { hasPath, seesAll, session } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { act } from "../toast.js";
import { Icon, Name, useInSight } from "./small.js";

const LINKS = [["overview", "#/"], ["tubes", "#/tubes"], ["running", "#/running"], ["failures", "#/failures"], ["search", "#/jobs"], ["connections", "#/connections"],
  ["schedules", "#/schedules"], ["server", "#/server"], ["audit", "#/audit"]];
const BELONGS = { tube: "tubes", job: "tubes" };

function Who() {
  const who = useStore(session);
  const leave = () => act(() => ask("DELETE", "session").then(loadSession));
  const role = who.bodies ? S.roleWithBodies(S.roles[who.role]) : S.roles[who.role];
  return html`<div class="who"><span><strong data-testid="user">${who.user ? html`<${Name} text=${who.user} />` : S.anonymous}</strong> · <span data-testid="role">${role}</span></span>
    ${who.via === "anonymous" ? html`<a class="plain" href="#/login">${S.loginButton}</a>`
      : html`<button type="button" class="plain" data-testid="logout" onClick=${leave}>${S.logout}</button>`}</div>`;
}

export function Side({ page }) {
  const now = useStore(server);
  const numbers = { tubes: now?.tubes, running: now?.jobs.reserved, failures: now?.jobs.buried, connections: now?.connections.open };
  const here = BELONGS[page] ?? page;
  const may = { schedules: hasPath("/schedules"), connections: seesAll() };
  const links = LINKS.filter(([name]) => may[name] ?? true);
  const row = useInSight(`${here} ${links.length}`);
  return html`<aside class="side"><a class="brand" href="#/"><${Icon} name="logo" /><span>gearstalkd<small><${Name} text=${now?.server_name ?? ""} /></small></span></a>
    <nav ref=${row} aria-label=${S.pages}>${links.map(([name, href]) => html`<a key=${name} href=${href} data-testid=${`nav-${name}`}
      aria-current=${name === here ? "page" : undefined}><${Icon} name=${name} /><span>${S.nav[name]}</span><b>${numbers[name] === undefined ? "" : count(numbers[name])}</b></a>`)}</nav>
    <${Who} /></aside>`;
}
