// Numbers, sizes, ages and names as text. Units are those of gearstalkctl.

export const STATES = ["ready", "reserved", "delayed", "buried"];

export function count(value) {
  if (value === null || value === undefined) return "–";
  return String(Math.round(value)).replace(/\B(?=(\d{3})+$)/g, "\u00a0");
}

export function short(value) {
  for (const [unit, size] of [["G", 1e9], ["M", 1e6], ["k", 1e3]]) {
    if (Math.abs(value) >= size) return `${+(value / size).toPrecision(3)}${unit}`;
  }
  return String(+value.toPrecision(3));
}

export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value >= 10) return count(value);
  return value === 0 ? "0" : value.toFixed(1);
}

export function bytes(value) {
  if (value === null || value === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    ++unit;
  }
  const text = unit && value < 99.5 ? value.toFixed(1) : String(Math.round(value));
  return `${text}\u00a0${units[unit]}`;
}

export const twoDigits = (number) => String(number).padStart(2, "0");

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds <= 0) return "0\u00a0s";
  if (seconds < 0.0995) return `${+(seconds * 1000).toPrecision(2)}\u00a0ms`;
  if (seconds < 9.95) return `${seconds.toFixed(1)}\u00a0s`;
  const whole = Math.round(seconds);
  const [days, hours, minutes, rest] = [Math.floor(whole / 86400), Math.floor(whole / 3600) % 24,
    Math.floor(whole / 60) % 60, whole % 60];
  if (days) return `${days}d ${hours}h`;
  if (hours) return `${hours}h ${minutes}m`;
  if (minutes) return `${minutes}m ${rest}s`;
  return `${rest}\u00a0s`;
}

// The seconds that "90", "5m" or "1h30m" says; NaN if the text is no time.
export function secondsOf(text) {
  const words = text.trim().toLowerCase().match(/^\d+(\.\d+)?$|^(\d+(\.\d+)?[smhdw] *)+$/)?.[0].match(/[\d.]+[smhdw]?/g);
  return words ? words.reduce((sum, word) => sum + parseFloat(word) * ({ m: 60, h: 3600, d: 86400, w: 604800 }[word.at(-1)] ?? 1), 0) : NaN;
}

// The shortest exact text for it, in one unit: "5m", "90s".
export function exactly(seconds) {
  const [unit, size] = [["w", 604800], ["d", 86400], ["h", 3600], ["m", 60]].find(([, of]) => seconds >= of && seconds % of === 0) ?? ["s", 1];
  return `${seconds / size}${unit}`;
}

export function instant(at) {
  return at ? at.replace("T", " ").replace("Z", " UTC") : "–";
}

const UNSEEN = /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/;

// A name in parts: text, and each character that has no shape or turns the writing direction, as
// an escape that can be read.
export function partsOf(name) {
  const parts = [];
  for (const char of String(name)) {
    const hidden = UNSEEN.test(char);
    const text = hidden ? `\\u{${char.codePointAt(0).toString(16).padStart(2, "0")}}` : char;
    const last = parts[parts.length - 1];
    if (last && last.hidden === hidden) last.text += text;
    else parts.push({ hidden, text });
  }
  return parts;
}

export function visible(name) {
  return partsOf(name).map((part) => part.text).join("");
}

// A word of a shell command.
export function shellWord(text) {
  const word = String(text);
  return /^[\w.,:=@%+/-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
