// Charts of GET /history: jobs by state and rates, of the server or of one tube.
import { pathWith, useAsk } from "../api.js";
import { STATES, count, rate } from "../format.js";
import { html, useState } from "../html.js";
import { namedBy } from "../route.js";
import * as S from "../strings.js";
import { Chart } from "./chart.js";
import { Choice } from "./small.js";

export const RATES = [["put_per_second", "put"], ["completed_per_second", "ready"], ["deleted_per_second", "delayed"],
  ["timed_out_per_second", "reserved"], ["failed_per_second", "buried"]];
const SERIES = [...STATES.map((state) => `jobs_${state}`), ...RATES.map(([name]) => name)].join();

// What a range is asked with: `every` seconds, for about two points a pixel of a narrow chart.
const ASKED = { "1h": { every: 10, points: 360 }, "30d": { every: 300, points: 360 } };

// `tube`: null for the server. Of tubes that are not `there` nothing is asked.
export function useHistory(tube, there = true) {
  const [range, setRange] = useState("1h");
  const path = pathWith("history", { series: SERIES, range, ...(tube && namedBy(tube)), points: ASKED[range].points });
  const { data } = useAsk(there ? path : null, ASKED[range]);
  const times = data?.times ?? [];
  const of = (name) => data?.series?.[name] ?? times.map(() => null);
  return { range, setRange, times, of };
}

export function RangeChoice({ history }) {
  return html`<${Choice} label=${S.chartRange} value=${history.range} choose=${history.setRange}
    choices=${[["1h", S.chartHour, "range-1h"], ["30d", S.chartMonth, "range-30d"]]} />`;
}

function HistoryChart({ title, testid, lines, log: logAtFirst, history, format, height }) {
  const [log, setLog] = useState(logAtFirst);
  return html`<section class="panel"><header><h2>${title}</h2><span class="grow"></span>
      <button type="button" class="btn small" aria-pressed=${String(log)} title=${S.chartLogTitle} onClick=${() => setLog(!log)}>${S.chartLog}</button>
      <${RangeChoice} history=${history} /></header>
    <${Chart} name=${title} testid=${testid} times=${history.times} lines=${lines} log=${log} format=${format}
      long=${history.range === "30d"} height=${height} /></section>`;
}

export function JobsChart({ history, height }) {
  const lines = ["ready", "delayed", "reserved", "buried"].map((state) =>
    ({ name: S.states[state], colour: state, values: history.of(`jobs_${state}`) }));
  return html`<${HistoryChart} title=${S.chartJobs} testid="chart-jobs" lines=${lines} log=${true} history=${history} format=${count} height=${height} />`;
}

export function RatesChart({ history }) {
  const lines = RATES.map(([name, colour]) => ({ name: S.rates[name], colour, values: history.of(name), area: colour === "put" }));
  return html`<${HistoryChart} title=${S.chartRates} testid="chart-rates" lines=${lines} log=${false} history=${history} format=${rate} />`;
}
