// The policy of a tube, with the source of each value. Servers without policies have no such path.
import { ask, useAsk } from "../api.js";
import { closeDialog, openDialog } from "../dialogs.js";
import { html, useState } from "../html.js";
import { hasPath, hasRole } from "../session.js";
import * as S from "../strings.js";
import { act } from "../toast.js";
import { Dialog, Ends } from "./dialog.js";
import { Field } from "./put.js";
import { Name } from "./small.js";

function SetPolicy({ tube, item, done }) {
  const [value, setValue] = useState(item.value);
  const path = `tubes/${tube.ref}/policy/${item.key}`;
  const save = async (work) => {
    if (!await act(work, S.policyDone(item.key, tube.name))) return;
    closeDialog();
    done();
  };
  return html`<${Dialog} title=${S.policyTitle(item.key, tube.name)} onSubmit=${() => save(() => ask("PUT", path, { body: { value } }))}>
    <p data-testid="dialog-text" class="dim">${S.policyText}</p><${Field} label=${item.key} value=${value} set=${setValue} data-first />
    ${item.source === "admin" && html`<button type="button" class="btn small" onClick=${() => save(() => ask("DELETE", path))}>${S.policyDefault}</button>`}
    <${Ends} ok=${S.save} /><//>`;
}

export function Policy({ tube }) {
  const { data, reload } = useAsk(hasPath("/tubes/{tube}/policy") ? `tubes/${tube.ref}/policy` : null);
  const [whole, setWhole] = useState(false);
  if (!data) return null;
  const set = data.items.filter((item) => item.source !== "default");
  const shown = whole ? data.items : set;
  return html`<section class="panel" data-testid="policy"><header><h2>${S.policyHeading}</h2><span class="grow"></span>
      <button type="button" class="btn small" aria-expanded=${String(whole)} onClick=${() => setWhole(!whole)}>${whole ? S.policyFewer : S.policyAll}</button></header>
    ${shown.length ? html`<dl class="record pad">${shown.map((item) => html`<dt class="mono">${item.key}</dt><dd><${Name} text=${item.value} />
        <span class="dim"> ${S.policySource(item.source)}</span> ${hasRole("admin") && html`<button type="button" class="link"
          aria-label=${S.policyTitle(item.key, tube.name)} onClick=${() => openDialog(SetPolicy, { tube, item, done: reload })}>${S.change}</button>`}</dd>`)}</dl>`
      : html`<p class="pad dim">${S.policyNone}</p>`}</section>`;
}
