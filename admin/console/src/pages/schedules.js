// Schedules: when each puts its next job, run one now, switch one on or off.
import { ask, useAsk } from "../api.js";
import { count, duration, instant } from "../format.js";
import { html } from "../html.js";
import { Page, useSeconds } from "../parts/page.js";
import { planInWords } from "../plan.js";
import { Empty, Icon, Loading, Name, Trouble } from "../parts/small.js";
import { jobLink, link, refOfName, setQuery, tubeLink } from "../route.js";
import { hasRole } from "../session.js";
import * as S from "../strings.js";
import { act } from "../toast.js";

const EVERY = 10;  // seconds

const pathOf = (schedule) => `schedules/${refOfName(schedule.name)}`;

const awayOf = (at) => duration(Math.abs(Date.parse(at) - Date.now()) / 1000);

function Plan({ schedule }) {
  const words = planInWords(schedule);
  const line = schedule.cron && html`<code class="dim nowrap">${schedule.cron}</code>`;
  return html`<span>${words} ${line} ${schedule.cron && html`<small class="dim nowrap">${schedule.time_zone}</small>`}</span>`;
}

function Row({ schedule, done }) {
  const run = () => act(() => ask("POST", `${pathOf(schedule)}/run`), (job) => ({ text: S.schedulesRan(schedule.name, job.id), href: jobLink(job.id) })).then(done);
  const set = (enabled) => act(() => ask("PUT", `${pathOf(schedule)}/enabled`, { body: { enabled } }), S.schedulesSet(schedule.name, enabled)).then(done);
  return html`<tr data-testid="schedule-row" data-row tabindex="-1"><td class="title"><b><${Name} text=${schedule.name} /></b> ${!schedule.enabled && html`<span class="tag warn">${S.schedulesOff}</span>`}</td>
    <td class="full"><a class="mono" href=${tubeLink(refOfName(schedule.tube))}><${Name} text=${schedule.tube} /></a></td>
    <td class="full" data-label=${S.schedulesPlan}><${Plan} schedule=${schedule} /></td>
    <td class="full" data-label=${S.schedulesNext}>${schedule.next_at ? html`<span>${S.jobDueIn(awayOf(schedule.next_at))} <small class="dim nowrap">${instant(schedule.next_at.replace(/:\d\d\.\d+/, ""))}</small></span>` : "–"}</td>
    <td class="full" data-label=${S.schedulesLast} title=${instant(schedule.last_at)}>${schedule.last_at ? S.ago(awayOf(schedule.last_at)) : "–"}</td>
    ${["runs", "skipped", "missed"].map((name) => html`<td key=${name} class=${schedule[name] ? "n" : "n zero"} data-label=${S.scheduleNumbers[name]}>${count(schedule[name])}</td>`)}
    <td class="acts full">${hasRole("operator") && html`<button type="button" class="btn small" onClick=${run}>${S.schedulesRun}</button> `}
      ${hasRole("admin") && html`<button type="button" class="btn small" onClick=${() => set(!schedule.enabled)}>${schedule.enabled ? S.schedulesSwitchOff : S.schedulesSwitchOn}</button>`}</td></tr>`;
}

export function Schedules({ query }) {
  const api = `schedules?limit=100${query.cursor ? `&cursor=${encodeURIComponent(query.cursor)}` : ""}`;
  const { data, problem, reload } = useAsk(api, { every: EVERY });
  useSeconds(true);
  const body = () => {
    if (problem) return html`<div class="pad"><${Trouble} problem=${problem} reload=${reload} /></div>`;
    if (!data) return html`<${Loading} />`;
    if (!data.items.length) return html`<${Empty} icon="schedules" title=${S.schedulesNone}><span>${S.schedulesNoneText}</span><//>`;
    return html`<table class="cards tight"><thead><tr>${S.schedulesColumns.map((text) => html`<th scope="col" key=${text} class=${S.schedulesNumbers.includes(text) ? "n" : ""}>${text}</th>`)}
        <th scope="col"><span class="sr">${S.acts}</span></th></tr></thead>
      <tbody>${data.items.map((schedule) => html`<${Row} key=${schedule.name} schedule=${schedule} done=${reload} />`)}</tbody></table>
      ${(data.next || query.cursor) && html`<div class="more"><span class="grow"></span>${query.cursor && html`<a class="btn small" href=${link("schedules")}>${S.jobsFirst}</a>`}
        <button type="button" class="btn small" disabled=${!data.next} onClick=${() => setQuery({ cursor: data.next })}>${S.next}</button></div>`}`;
  };
  return html`<${Page} name="schedules" title=${S.nav.schedules} api="schedules" ctl="schedules"><div class="head"><h1><${Icon} name="schedules" /> ${S.nav.schedules}</h1></div>
    <section class="panel">${body()}</section><//>`;
}
