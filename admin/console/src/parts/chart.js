// Lines over time by uPlot, with a legend that shows the values under the pointer, and a summary
// in words for who does not see the picture.
import uPlot from "uplot";
import { short } from "../format.js";
import { html, useEffect, useRef, useState } from "../html.js";
import { theme } from "../preferences.js";
import { useStore } from "../store.js";
import * as S from "../strings.js";

const two = (number) => String(number).padStart(2, "0");

function timeText(seconds, long) {
  const date = new Date(seconds * 1000);
  if (long) return `${date.getDate()} ${S.months[date.getMonth()]}`;
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
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

function axis(element, more) {
  return { stroke: colourOf(element, "faint"), font: `11px ${getComputedStyle(element).fontFamily}`,
    grid: { stroke: colourOf(element, "line2"), width: 1 }, ticks: { show: false }, ...more };
}

function optionsOf(element, { lines, log, height, long }, onCursor) {
  const scale = log ? { distr: 4, asinh: 1, range: (_, low, high) => [0, Math.max(10, high)] }
    : { range: (_, low, high) => [0, Math.max(1, high * 1.1)] };
  const decades = [0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8];
  // A minute at least: uPlot would show a single point in a day.
  const span = (plot, low, high) => (plot.data[0].length > 1 ? [low, high] : [low - 60, low]);
  return {
    width: Math.max(120, element.clientWidth), height, legend: { show: false }, padding: [8, 8, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    scales: { x: { time: true, range: span }, y: scale },
    axes: [
      axis(element, { size: 26, space: 90, values: (_, splits) => splits.map((at) => timeText(at, long)) }),
      axis(element, { size: 44, gap: 4, space: 26, ...(log && { splits: (plot) => decades.filter((at) => at <= plot.scales.y.max) }),
        values: (_, splits) => splits.map((value) => short(value)) }),
    ],
    series: [{}, ...lines.map((line) => {
      const stroke = colourOf(element, line.colour);
      return { label: line.name, stroke, width: 1.6, points: { show: false }, spanGaps: false,
        fill: line.area && !log ? colourOf(element, line.colour).replace(")", " / 10%)").replaceAll(",", "") : undefined };
    })],
    hooks: { setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)] },
  };
}

const last = (values) => values.findLast((value) => value !== null) ?? null;

function summaryOf(name, times, lines, format) {
  if (!times.length) return S.chartNone(name);
  return `${name}. ${lines.map((line) => {
    const known = line.values.filter((value) => value !== null);
    return known.length ? S.chartLine(line.name, format(Math.min(...known)), format(Math.max(...known)), format(last(known)))
      : S.chartUnknown(line.name);
  }).join(" ")}`;
}

// lines: [{name, colour, values, area}], one value for each of `times` (unix seconds).
export function Chart({ name, times, lines, format = short, log = false, long = false, height = 190, testid }) {
  const box = useRef(null);
  const plot = useRef(null);
  const [at, setAt] = useState(null);
  const themed = useStore(theme);
  const names = lines.map((line) => line.name).join();
  const data = [times, ...lines.map((line) => line.values)];

  useEffect(() => {
    const options = optionsOf(box.current, { lines, log, height, long }, setAt);
    plot.current = new uPlot(options, data, box.current);
    const observer = new ResizeObserver(() =>
      plot.current.setSize({ width: Math.max(120, box.current.clientWidth), height }));
    observer.observe(box.current);
    return () => {
      observer.disconnect();
      plot.current.destroy();
    };
  }, [names, log, height, long, themed]);
  useEffect(() => plot.current?.setData(data), [times, ...lines.map((line) => line.values)]);

  const valueAt = (line) => (at === null ? last(line.values) : line.values[at]);
  return html`<div class="legend">${lines.map((line) => html`
      <span key=${line.name} class=${`state ${line.colour}`}>${line.name}<b>${valueAt(line) == null ? "–" : format(valueAt(line))}</b></span>`)}
      ${at !== null && times[at] && html`<time>${timeText(times[at], false)}</time>`}</div>
    <figure class="chart" role="img" aria-label=${summaryOf(name, times, lines, format)} data-testid=${testid}
      data-points=${times.length}><div ref=${box}></div></figure>`;
}
