// Starts the console: who looks, then the frame with the page that the address names.
import { loadPaths, loadSession, ask } from "./api.js";
import { DialogHost } from "./parts/dialog.js";
import { dialog } from "./dialogs.js";
import { html, render, useCallback, useEffect, useState } from "./html.js";
import { startKeys } from "./keys.js";
import { connect, startLive, useEvents } from "./live.js";
import { server } from "./live_state.js";
import { loadOperations, merge } from "./operations.js";
import { Audit } from "./pages/audit.js";
import { Connections } from "./pages/connections.js";
import { Failures } from "./pages/failures.js";
import { Job } from "./pages/job.js";
import { Login } from "./pages/login.js";
import { Missing } from "./pages/missing.js";
import { Overview } from "./pages/overview.js";
import { Running } from "./pages/running.js";
import { Schedules } from "./pages/schedules.js";
import { Search } from "./pages/search.js";
import { Server } from "./pages/server.js";
import { Tube } from "./pages/tube.js";
import { Tubes } from "./pages/tubes.js";
import { Side } from "./parts/side.js";
import { Trouble } from "./parts/small.js";
import { ToastHost } from "./parts/toast.js";
import { applyPreferences } from "./preferences.js";
import { go, route } from "./route.js";
import { hasRole, session } from "./session.js";
import { useStore } from "./store.js";
import * as S from "./strings.js";
import { tell, tellProblem } from "./toast.js";

const PAGES = { overview: Overview, tubes: Tubes, tube: Tube, search: Search, job: Job, connections: Connections,
  server: Server, audit: Audit, running: Running, failures: Failures, schedules: Schedules, missing: Missing };

function Frame({ at }) {
  const inert = useStore(dialog) !== null;
  const hear = useCallback((type, data) => {
    if (type === "operation") merge(data);
    else if (type === "notice" && data.level === "info") tell(data.text);
    else if (type === "notice") tellProblem({ detail: data.text });
  }, []);
  useEvents(["operation"], [], hear);
  useEffect(() => {
    if (hasRole("operator")) loadOperations().catch(() => {});  // the page says what is wrong with the server
  }, []);
  return html`<div class="app" inert=${inert}><a class="btn skip" href=${location.hash} onClick=${(event) => {
      event.preventDefault();
      document.querySelector("main")?.focus();
    }}>${S.skip}</a><${Side} page=${at.page} />
    <${PAGES[at.page]} key=${`${at.page}/${at.param}`} param=${at.param} query=${at.query} /></div>`;
}

function App() {
  const who = useStore(session);
  const at = useStore(route);
  const [problem, setProblem] = useState(null);
  const begin = useCallback(async () => {
    try {
      setProblem(null);
      await loadSession();
      if (session.value.role) await start();
    } catch (caught) {
      setProblem(caught);
    }
  }, []);
  useEffect(begin, []);
  const signedIn = async (from) => {
    await start();
    if (from === "login") go("#/");
  };
  if (problem) return html`<main class="login" data-page="login"><${Trouble} problem=${problem} reload=${begin} /></main>`;
  if (!who) return null;
  const page = !who.role || at.page === "login" ? html`<${Login} done=${() => signedIn(at.page)} />` : html`<${Frame} at=${at} />`;
  return html`${page}<${DialogHost} /><${ToastHost} />`;
}

async function start() {
  server.set(await ask("GET", "server"));
  await loadPaths();
  connect();
}

applyPreferences();
startKeys();
startLive();
render(html`<${App} />`, document.body);
