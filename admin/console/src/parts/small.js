// Small pieces that all pages share.
import { STATES, count, partsOf, visible } from "../format.js";
import { html, useLayoutEffect, useRef } from "../html.js";
import * as S from "../strings.js";

export function Icon({ name }) {
  return html`<i class=${`i i-${name}`} aria-hidden="true"></i>`;
}

// A long name breaks behind its separators rather than anywhere.
const breakable = (text) => text.split(/(?<=[.:/_-])(?=\w)/).map((word, index) => (index ? html`<wbr />${word}` : word));

// A name from outside. Characters that cannot be seen stand as escapes.
export function Name({ text, ...rest }) {
  return html`<span class="name" ...${rest}>${partsOf(text).map((part) =>
    part.hidden ? html`<span class="control" title=${S.hiddenCharacter}>${part.text}</span>` : breakable(part.text))}</span>`;
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");

function flash(element) {
  if (calm.matches || !element.animate) return;
  const light = "color-mix(in srgb, var(--reserved) 32%, transparent)";
  element.animate([{ backgroundColor: light }, { backgroundColor: "transparent" }], 1400);
}

// A number that lights up when it changes.
export function Num({ value, format = count, ...rest }) {
  const element = useRef(null);
  const seen = useRef(value);
  useLayoutEffect(() => {
    if (seen.current !== value && seen.current !== null && seen.current !== undefined) flash(element.current);
    seen.current = value;
  }, [value]);
  return html`<span ref=${element} ...${rest}>${format(value)}</span>`;
}

export function State({ state, ...rest }) {
  return html`<span class=${`state ${state}`} ...${rest}>${S.states[state] ?? state}</span>`;
}

// Sets a style where the number is known only here: the policy forbids style attributes.
const grow = (share) => (element) => element && (element.style.flexGrow = share);
const widen = (share) => (element) => element && (element.style.width = `${Math.round(share * 100)}%`);

// Jobs by state as a bar. Shares are damped, so that 3 buried of 10 000 can be seen. `to` makes the
// link to those of a state; null: there is none.
export function Mix({ jobs, to }) {
  const there = STATES.filter((state) => jobs[state] > 0);
  return html`<div class="mix">${there.map((state) => html`
    <a key=${state} class=${state} ref=${grow(jobs[state] ** 0.6)} href=${to?.(state)}
      title=${S.mix(jobs[state], state)} aria-label=${S.mix(jobs[state], state)}></a>`)}</div>`;
}

// A bar as wide as its share of the largest one.
export function Sized({ share, children }) {
  return html`<div class="sized" ref=${widen(share)}>${children}</div>`;
}

export function Meter({ share, ...rest }) {
  const part = Math.max(0, Math.min(1, share || 0));
  return html`<div class="meter" role="meter" aria-valuemin="0" aria-valuemax="100"
    aria-valuenow=${Math.round(part * 100)} aria-label=${S.share} ...${rest}><i ref=${widen(part)}></i></div>`;
}

export function Empty({ icon = "empty", title, testid, children }) {
  return html`<div class="empty" data-testid=${testid}><${Icon} name=${icon} /><strong>${title}</strong>${children}</div>`;
}

// What stands in the place of data that did not come.
export function Trouble({ problem, reload }) {
  return html`<div class="note bad" role="alert"><span class="grow">${problem.detail || problem.message}
    ${problem.requestId && html` <small class="dim">${S.request(problem.requestId)}</small>`}</span>
    ${reload && html`<button class="btn small" onClick=${reload}>${S.again}</button>`}</div>`;
}

export function Loading() {
  return html`<div class="empty" aria-busy="true"><span>${S.loading}</span></div>`;
}

export function Record({ rows }) {
  return html`<dl class="record pad">${rows.filter(Boolean).map(([name, value]) =>
    html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;
}

// For a row of links that may be wider than the screen: the chosen one is in sight.
export function useInSight(chosen) {
  const row = useRef(null);
  useLayoutEffect(() => {
    const link = row.current.querySelector("[aria-current]");
    if (link) row.current.scrollLeft = link.offsetLeft - row.current.offsetLeft - (row.current.clientWidth - link.offsetWidth) / 2;
  }, [chosen]);
  return row;
}

// Buttons of which one is pressed. choices: [[value, text, testid]].
export function Choice({ choices, value, choose, label }) {
  return html`<div class="group" role="group" aria-label=${label}>${choices.map(([of, text, testid]) => html`
    <button type="button" class="btn small" key=${of} data-testid=${testid} aria-pressed=${String(of === value)}
      onClick=${() => choose(of)}>${text}</button>`)}</div>`;
}

export function Spark({ values, state }) {
  const known = values.filter((value) => value !== null);
  if (known.length < 2) return null;
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const at = (value, index) => [2 + (88 * index) / (known.length - 1), 31 - (28 * (value - low)) / (high - low || 1)];
  const points = known.map((value, index) => at(value, index).map((n) => n.toFixed(1)).join(",")).join(" ");
  const [x, y] = at(known[known.length - 1], known.length - 1);
  return html`<svg viewBox="0 0 92 34" class=${state} aria-hidden="true" fill="none" stroke="currentColor"
    stroke-width="1.6" stroke-linejoin="round"><polyline points=${points} /><circle cx=${x} cy=${y} r="2.2" fill="currentColor" /></svg>`;
}

// The beginning of a body in one line.
export function visiblePreview(text) {
  return visible((text ?? "").replace(/\s+/g, " "));
}
