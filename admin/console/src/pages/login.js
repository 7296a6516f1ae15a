import { ask, loadSession } from "../api.js";
import { html, useState } from "../html.js";
import * as S from "../strings.js";
import { Icon } from "../parts/small.js";

export function Login({ done }) {
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState(null);
  const submit = async (event) => {
    event.preventDefault();
    try {
      setProblem(null);
      await ask("POST", "session", { body: { token: token.trim() } });
      await loadSession();
      await done();
    } catch (caught) {
      setProblem(caught);
    }
  };
  return html`<main class="login" data-page="login"><form class="panel" onSubmit=${submit}>
    <h1 class="brand"><${Icon} name="logo" /><span>gearstalkd</span></h1>
    <label>${S.loginToken}<input type="password" data-testid="login-token" autocomplete="current-password" placeholder="gst_…"
      value=${token} onInput=${(event) => setToken(event.target.value)} ref=${(element) => element?.focus()} /></label>
    ${problem && html`<div class="note bad" role="alert" data-testid="login-error"><span class="grow">${S.loginProblem(problem)}</span></div>`}
    <button class="btn main" data-testid="login-submit">${S.loginButton}</button>
    <p class="dim">${S.loginBefore}<code>gearstalkctl token</code>${S.loginAfter}</p></form></main>`;
}
