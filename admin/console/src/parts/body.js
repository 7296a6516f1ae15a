// A body, as the server decodes it. What it holds becomes text nodes, coloured where it is JSON.
import { pathWith, useAsk } from "../api.js";
import { bytes } from "../format.js";
import { html, useMemo, useState } from "../html.js";
import { hasBodies, session } from "../session.js";
import * as S from "../strings.js";
import { copyText } from "../toast.js";
import { Empty, Icon, Loading, Trouble } from "./small.js";

const WAYS = ["auto", "json", "text", "base64", "php", "msgpack", "hex"];
const MOST = 262144;      // bytes of one view
const COLOURED = 100000;  // characters

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|\b(true|false|null)\b/g;

function coloured(text) {
  const parts = [];
  let at = 0;
  for (const found of text.matchAll(TOKEN)) {
    parts.push(text.slice(at, found.index));
    const [whole, string, colon, number] = found;
    if (string) parts.push(html`<span class=${colon ? "key" : "text"}>${string}</span>${colon ?? ""}`);
    else parts.push(html`<span class=${number ? "number" : "word"}>${whole}</span>`);
    at = found.index + whole.length;
  }
  parts.push(text.slice(at));
  return parts;
}

// The body as text, if the server found that it is; else null.
export function textOf(view) {
  if (view.error || view.truncated) return null;
  return view.text ?? (typeof view.value === "string" ? view.value : null);
}

function shownOf(view) {
  const structured = view.value !== null && typeof view.value !== "string";
  const text = structured ? JSON.stringify(view.value, null, 2) : view.text ?? view.value ?? "";
  return { text, parts: structured && text.length <= COLOURED ? coloured(text) : text };
}

export function Body({ job, raw }) {
  const [as, setAs] = useState("auto");
  const [limit, setLimit] = useState(null);
  const allowed = hasBodies();
  const { data: view, problem, reload } = useAsk(allowed ? pathWith(`jobs/${job.id}/body/view`, { as, limit }) : null);
  const shown = useMemo(() => view && shownOf(view), [view]);
  if (!allowed) {
    return html`<section class="panel"><${Empty} icon="lock" title=${S.bodyForbidden} testid="body-forbidden">
      <span>${S.bodyForbiddenText(session.value.user)}</span><//></section>`;
  }
  return html`<section class="panel"><header><h2>${S.bodyTitle}</h2>${view && html`<span class="tag">${S.bodyDetected(view.as === "auto" ? view.detected : view.as)}</span>`}
      <span class="dim">${bytes(job.size_bytes)}</span><span class="grow"></span>
      <select aria-label=${S.bodyAs} data-testid="body-as" value=${as} onChange=${(event) => setAs(event.target.value)}>
        ${WAYS.map((way) => html`<option key=${way} value=${way}>${way}</option>`)}</select>
      ${shown && html`<button type="button" class="btn small" onClick=${() => copyText(shown.text)}><${Icon} name="copy" />${S.bodyCopy}</button>`}
      <a class="btn small" href=${raw} download=${`job-${job.id}.bin`} data-testid="body-raw">${S.bodyDownload}</a></header>
    ${problem && html`<div class="pad"><${Trouble} problem=${problem} reload=${reload} /></div>`}
    ${view?.error && html`<div class="pad"><div class="note" role="status">${S.bodyError(as, view.error)}</div></div>`}
    ${!view && !problem && html`<${Loading} />`}
    ${shown && !view.error && html`<pre class=${`body ${(view.as === "auto" ? view.detected : view.as) === "hex" ? "hex" : ""}`} data-testid="job-body" tabindex="0">${shown.parts}</pre>`}
    ${view?.truncated && html`<div class="more"><span>${S.bodyTruncated(bytes(view.shown_bytes), bytes(view.size_bytes))}</span><span class="grow"></span>
      ${view.shown_bytes < MOST && html`<button type="button" class="btn small" onClick=${() => setLimit(MOST)}>${S.bodyMore}</button>`}</div>`}</section>`;
}
