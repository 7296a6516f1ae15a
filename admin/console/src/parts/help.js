import { closeDialog } from "../dialogs.js";
import { html } from "../html.js";
import * as S from "../strings.js";
import { Dialog } from "./dialog.js";

export function Help() {
  return html`<${Dialog} title=${S.helpTitle} testid="help">
    <dl class="record">${S.helpRows.map(([keys, text]) => html`
      <dt>${keys.map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${text}</dd>`)}</dl>
    <div class="ends"><button type="button" class="btn" data-first onClick=${closeDialog}>${S.close}</button></div>
  <//>`;
}
