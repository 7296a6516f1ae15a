// When a schedule puts its jobs, in words; null if its cron expression is clearer.
import { duration, twoDigits } from "./format.js";
import * as S from "./strings.js";

const SHORT = { "@hourly": "0 * * * *", "@daily": "0 0 * * *", "@midnight": "0 0 * * *", "@weekly": "0 0 * * 0",
  "@monthly": "0 0 1 * *", "@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *" };

const isNumber = (text) => /^\d+$/.test(text);
const isList = (text) => /^\d+(,\d+)*$/.test(text);

function timeInWords(minute, hour) {
  const [, most] = /^\d+-(\d+)$/.exec(hour) ?? [];
  const between = hour === "*" ? "" : most && S.planBetween(`${twoDigits(parseInt(hour, 10))}:00`, `${twoDigits(most)}:59`);
  const step = minute === "*" ? 1 : Number(/^\*\/(\d+)$/.exec(minute)?.[1]);
  if (step && between !== undefined) return S.planMinutes(step) + between;
  if (!isNumber(minute)) return null;
  if (isList(hour)) return S.planAt(hour.split(",").map((one) => `${twoDigits(one)}:${twoDigits(minute)}`).join(", "));
  return between === undefined ? null : S.planHours(twoDigits(minute)) + between;
}

// "1-5" or "mon,3" as names; null if it is anything else. `names` begin at `first`.
function namesOf(field, names, first) {
  const nameOf = (word) => (isNumber(word) ? names[(Number(word) - first) % names.length]
    : names.find((name) => name.slice(0, 3).toLowerCase() === word.toLowerCase()));
  const parts = field.split(",").map((part) => part.split("-").map(nameOf));
  return parts.every((part) => !part[2] && part.every(Boolean)) ? parts.map((part) => part.join("–")).join(", ") : null;
}

function dayInWords(day, weekday) {
  if (day === "*") return weekday === "*" ? S.planDaily : namesOf(weekday, S.weekdays, 0);
  if (weekday !== "*") return null;  // a day that fits either of them is enough
  return isList(day) ? S.planDays(day) : null;
}

function daysInWords(day, month, weekday) {
  const words = [dayInWords(day, weekday), month === "*" ? "" : namesOf(month, S.months, 1)];
  return words.includes(null) ? null : words.filter(Boolean).join(", ");
}

export function planInWords({ cron, every_seconds: every }) {
  if (!cron) return S.planEvery(duration(every).replace(".0", ""));
  const fields = (SHORT[cron] ?? cron).trim().split(/\s+/);
  if (fields.length !== 5) return null;
  const [time, days] = [timeInWords(fields[0], fields[1]), daysInWords(...fields.slice(2))];
  return time && days ? `${days}, ${time}` : null;
}
