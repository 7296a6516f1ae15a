import { html } from "../html.js";
import { Page } from "../parts/page.js";
import { Empty } from "../parts/small.js";
import * as S from "../strings.js";

export function Missing() {
  return html`<${Page} name="missing" title=${S.missingTitle} api="" ctl="status"><section class="panel">
    <${Empty} title=${S.missingTitle}><span>${S.missingText}</span><a class="btn" href="#/">${S.nav.overview}</a><//></section><//>`;
}
