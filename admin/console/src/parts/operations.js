// Operations: those that run, on each page, and the list of the last ones on the overview.
import { count } from "../format.js";
import { html } from "../html.js";
import { isRunning, operations, stop } from "../operations.js";
import { can } from "../session.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";
import { act } from "../toast.js";
import { Meter } from "./small.js";

function Operation({ operation }) {
  const running = isRunning(operation);
  const share = operation.count ? (operation.done + operation.skipped + operation.failed) / operation.count : 0;
  return html`<li><span class="grow">${S.operationText(operation)}
      ${running && html`<${Meter} share=${share} data-testid="operation-progress" />`}</span>
    <span class="dim nowrap">${running ? S.operationProgress(count(operation.done), count(operation.count)) : S.operationStates[operation.state]}</span>
    ${running && html`<button type="button" class="btn small bad" data-testid="operation-stop"
      onClick=${() => act(() => stop(operation), S.operationStopped)}>${S.stop}</button>`}</li>`;
}

export function RunningOperations() {
  const running = useStore(operations).filter((operation) => operation.state === "running");
  return running.length > 0 && html`<section class="panel" aria-label=${S.operationTitle}><ul class="todo">
    ${running.map((operation) => html`<${Operation} key=${operation.id} operation=${operation} />`)}</ul></section>`;
}

export function LastOperations() {
  const all = useStore(operations).slice(0, 6);
  if (!can("job.delete") || !all.length) return null;
  return html`<section class="panel"><header><h2>${S.operationTitle}</h2></header><ul class="todo">
    ${all.map((operation) => html`<${Operation} key=${operation.id} operation=${operation} />`)}</ul></section>`;
}
