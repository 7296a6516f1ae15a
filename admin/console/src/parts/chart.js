// Lines over time on a canvas, with a legend that shows the values under the pointer, and a summary
// in words for screen readers.
import { short, twoDigits } from "../format.js";
import { html, useLayoutEffect, useRef, useState } from "../html.js";
import { theme } from "../preferences.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const [LEFT, RIGHT, TOP, BOTTOM] = [48, 10, 10, 24];  // px around the plot
const STEPS = [10, 60, 300, 900, 3600, 21600, 86400, 432000];  // seconds between times
const SPACE = [90, 34];  // px between two times, two values

function timeText(seconds, long) {
  const date = new Date(seconds * 1000);
  if (long) return `${date.getDate()} ${S.months[date.getMonth()]}`;
  return `${twoDigits(date.getHours())}:${twoDigits(date.getMinutes())}`;
}

// The colour that a token has in this theme, as the canvas needs it.
function colourOf(element, token) {
  const probe = document.createElement("i");
  probe.style.color = `var(--${token})`;
  element.append(probe);
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

// The values named at the left side: from 0 to the first one that is not below `high`.
function valuesTo(high, log, room) {
  const values = [0];
  if (log) {
    for (let value = 1; values.at(-1) < high; value *= 10) values.push(value);
    return values;
  }
  const power = 10 ** Math.floor(Math.log10(high / room));
  const step = power * [1, 2, 5, 10].find((times) => times * power * room >= high);
  while (values.at(-1) < high) values.push(values.length * step);
  return values;
}

// Round local times between `first` and `last`: about `room` of them fit.
function timesIn(first, last, room) {
  const step = STEPS.find((one) => one * room >= last - first) ?? STEPS.at(-1);
  const zone = new Date(last * 1000).getTimezoneOffset() * 60;
  const times = [];
  for (let at = Math.ceil((first - zone) / step) * step + zone; at <= last; at += step) times.push(at);
  return times;
}

// Where times and values are drawn.
function planOf(width, height, times, lines, log) {
  const last = times.at(-1) ?? Date.now() / 1000;
  const first = Math.min(times[0] ?? last, last - 60);
  const [wide, high] = [width - LEFT - RIGHT, height - TOP - BOTTOM];
  const most = Math.max(log ? 10 : 1, ...lines.flatMap((line) => line.values));
  const values = valuesTo(most, log, Math.floor(high / SPACE[1]));
  const scale = log ? Math.asinh : (value) => value;
  return { values, marks: timesIn(first, last, wide / SPACE[0]), x: (at) => LEFT + (wide * (at - first)) / (last - first),
    y: (value) => TOP + high * (1 - scale(value) / scale(values.at(-1))) };
}

// The parts of a line without gaps, as points.
function partsOf(times, values, plan) {
  const parts = [[]];
  values.forEach((value, index) => {
    if (value === null) parts.push([]);
    else parts.at(-1).push([plan.x(times[index]), plan.y(value)]);
  });
  return parts.filter((part) => part.length);
}

function drawLine(pen, part, area, floor) {
  pen.beginPath();
  part.forEach(([x, y]) => pen.lineTo(x, y));
  if (part.length === 1) pen.arc(...part[0], 1, 0, 7);
  pen.stroke();
  if (!area) return;
  pen.lineTo(part.at(-1)[0], floor);
  pen.lineTo(part[0][0], floor);
  pen.globalAlpha = 0.1;
  pen.fill();
  pen.globalAlpha = 1;
}

function draw(canvas, { times, lines, log, long, height, at }) {
  const width = Math.max(120, canvas.parentElement.clientWidth);
  const ratio = devicePixelRatio;
  [canvas.width, canvas.height] = [width * ratio, height * ratio];
  canvas.style.height = `${height}px`;
  const plan = planOf(width, height, times, lines, log);
  const pen = canvas.getContext("2d");
  const colour = (token) => colourOf(canvas.parentElement, token);
  const across = (x, y, toX, toY) => {
    pen.beginPath();
    pen.moveTo(x, y);
    pen.lineTo(toX, toY);
    pen.stroke();
  };
  pen.scale(ratio, ratio);
  pen.font = `11px ${getComputedStyle(canvas).fontFamily}`;
  pen.fillStyle = colour("faint");
  pen.strokeStyle = colour("line2");
  pen.textBaseline = "middle";
  pen.textAlign = "right";
  for (const value of plan.values) {
    across(LEFT, plan.y(value), width - RIGHT, plan.y(value));
    pen.fillText(short(value), LEFT - 6, plan.y(value));
  }
  pen.textAlign = "center";
  for (const mark of plan.marks) pen.fillText(timeText(mark, long), Math.min(plan.x(mark), width - 18), height - 9);
  pen.strokeStyle = pen.fillStyle;
  if (at !== null) across(plan.x(times[at]), TOP, plan.x(times[at]), height - BOTTOM);
  pen.lineWidth = 1.6;
  pen.lineJoin = "round";
  for (const line of lines) {
    pen.strokeStyle = pen.fillStyle = colour(line.colour);
    for (const part of partsOf(times, line.values, plan)) drawLine(pen, part, line.area, plan.y(0));
  }
}

const lastKnown = (values) => values.findLast((value) => value !== null) ?? null;

function summaryOf(name, times, lines, format) {
  if (!times.length) return S.chartNone(name);
  return `${name}. ${lines.map((line) => {
    const known = line.values.filter((value) => value !== null);
    return known.length ? S.chartLine(line.name, format(Math.min(...known)), format(Math.max(...known)), format(known.at(-1)))
      : S.chartUnknown(line.name);
  }).join(" ")}`;
}

// lines: [{name, colour, values, area}], one value for each of `times` (unix seconds, evenly apart).
export function Chart({ name, times, lines, format = short, log = false, long = false, height = 190, testid }) {
  const canvas = useRef(null);
  const [pointed, setPointed] = useState(null);
  const at = pointed < times.length ? pointed : null;
  useStore(theme);
  useLayoutEffect(() => {
    const observer = new ResizeObserver(() => draw(canvas.current, { times, lines, log, long, height, at }));
    observer.observe(canvas.current.parentElement);
    return () => observer.disconnect();
  });
  const point = ({ offsetX }) => {
    const share = (offsetX - LEFT) / (canvas.current.clientWidth - LEFT - RIGHT);
    setPointed(times.length ? Math.round(Math.max(0, Math.min(1, share)) * (times.length - 1)) : null);
  };
  const valueAt = (line) => (at === null ? lastKnown(line.values) : line.values[at]);
  return html`<div class="legend">${lines.map((line) => html`
      <span key=${line.name} class=${`state ${line.colour}`}>${line.name}<b>${valueAt(line) == null ? "–" : format(valueAt(line))}</b></span>`)}
      ${at !== null && html`<time>${timeText(times[at], false)}</time>`}</div>
    <figure class="chart" role="img" aria-label=${summaryOf(name, times, lines, format)} data-testid=${testid}
      data-points=${times.length}><div><canvas ref=${canvas} onPointerMove=${point} onPointerLeave=${() => setPointed(null)}></canvas></div></figure>`;
}
