// When a schedule puts its jobs, in words; null where they would be no clearer than its line.
import { duration } from "./format.js";
import * as S from "./strings.js";

const SHORT = { "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *" };

const two = (number) => String(number).padStart(2, "0");
const isNumber = (text) => /^\d+$/.test(text);

function timeInWords(minute, hour) {
  const [, most] = /^\d+-(\d+)$/.exec(hour) ?? [];
  const between = hour === "*" ? "" : most && S.planBetween(`${two(parseInt(hour, 10))}:00`, `${two(most)}:59`);
  const step = minute === "*" ? 1 : Number(/^\*\/(\d+)$/.exec(minute)?.[1]);
  if (step && between !== undefined) return S.planMinutes(step) + between;
  if (!isNumber(minute)) return null;
  if (/^\d+(,\d+)*$/.test(hour)) return S.planAt(hour.split(",").map((one) => `${two(one)}:${two(minute)}`).join(", "));
  return between === undefined ? null : S.planHours(two(minute)) + between;
}

// "1-5" or "mon,3" as names; null if it is anything else. `names` begin at `first`.
function namesOf(field, names, first) {
  const nameOf = (word) => (isNumber(word) ? names[(Number(word) - first) % names.length]
    : names.find((name) => name.slice(0, 3).toLowerCase() === word.toLowerCase()));
  const parts = field.split(",").map((part) => part.split("-").map(nameOf));
  return parts.every((part) => !part[2] && part.every(Boolean)) ? parts.map((part) => part.join("–")).join(", ") : null;
}

function daysInWords(day, month, weekday) {
  if (day !== "*" && weekday !== "*") return null;  // either of them fits
  const words = [day === "*" ? (weekday === "*" ? S.planDaily : namesOf(weekday, S.weekdays, 0)) : /^\d+(,\d+)*$/.test(day) ? S.planDays(day) : null,
    month === "*" ? "" : namesOf(month, S.months, 1)];
  return words.includes(null) ? null : words.filter(Boolean).join(", ");
}

export function planInWords({ cron, every_seconds: every }) {
  if (!cron) return S.planEvery(duration(every));
  const fields = (SHORT[cron] ?? cron).trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [time, days] = [timeInWords(fields[0], fields[1]), daysInWords(...fields.slice(2))];
  return time && days ? `${days}, ${time}` : null;
}
