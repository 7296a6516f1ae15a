// The filter of jobs: one row for each condition, for the form, the chips, the API and the shell.
import { exactly, secondsOf, shellWord } from "./format.js";
import { hasBodies } from "./session.js";
import * as S from "./strings.js";

// kind: text, number or age; body: needs the right `bodies`; flag: of `gearstalkctl jobs`; empty: "" is a value.
export const CONDITIONS = [
  { name: "text", kind: "text", body: true, flag: "--text" },
  { name: "min_reserves", kind: "number", flag: "--min-reserves" },
  { name: "max_reserves", kind: "number", flag: "--max-reserves" },
  { name: "min_age_seconds", kind: "age", flag: "--min-age" },
  { name: "max_age_seconds", kind: "age", flag: "--max-age" },
  { name: "min_priority", kind: "number", flag: "--min-priority" },
  { name: "max_priority", kind: "number", flag: "--max-priority" },
  { name: "id_from", kind: "number", flag: "--id-from" },
  { name: "id_to", kind: "number", flag: "--id-to" },
  { name: "unique", kind: "text", flag: "--unique" },
  { name: "group", kind: "text", flag: "--group", empty: true },
  { name: "holder", kind: "number", flag: "--holder" },
  { name: "json_path", kind: "text", body: true, flag: "--json-path" },
  { name: "json_op", kind: "text", body: true, flag: "--json-op", with: "json_value" },
  { name: "json_value", kind: "text", body: true, flag: "--json-value", with: "json_path" },
];

export const JSON_OPS = ["eq", "ne", "lt", "gt", "contains"];

// The conditions that a query of the address holds.
export function given(query) {
  const says = (row) => query[row.name] || (row.empty && query[row.name] === "");
  return CONDITIONS.filter((row) => says(row) && (!row.body || hasBodies()) && (!row.with || (query[row.with] && query.json_path)));
}

export const isFiltered = (query) => given(query).length > 0;
export const readsBodies = (query) => given(query).some((row) => row.body);

export function parametersOf(query) {
  return Object.fromEntries(given(query).map((row) => [row.name, query[row.name]]));
}

// Members of an operation's filter: numbers are numbers there.
export function membersOf(query) {
  return Object.fromEntries(given(query).map((row) =>
    [row.name, row.kind !== "text" ? Number(query[row.name]) : query[row.name]]));
}

export function flagsOf(query) {
  return given(query).map((row) => ` ${row.flag} ${shellWord(query[row.name])}`).join("");
}

// One chip a condition; the three of JSON are one.
export function chipsOf(query) {
  return given(query).filter((row) => !row.with).map((row) => ({
    names: row.name === "json_path" ? ["json_path", "json_op", "json_value"] : [row.name],
    text: row.name === "json_path" ? S.filterJson(query.json_path, query.json_op, query.json_value)
      : S.filterChips[row.name](writtenOf(query)[row.name]),
  }));
}

// Conditions as people write them. The address has them as the API does: an age is seconds there.
export function writtenOf(query) {
  return Object.fromEntries(CONDITIONS.map(({ name, kind }) => [name, query[name] && kind === "age" && !Number.isNaN(Number(query[name])) ? exactly(Number(query[name])) : query[name] ?? ""]));
}

// A field cannot say "": where it says nothing, that of `query` stays.
export function readFrom(fields, query) {
  return Object.fromEntries(CONDITIONS.map(({ name, kind }) => {
    const text = fields[name].trim() === "" ? (query[name] === "" ? "" : null) : fields[name];
    const seconds = kind === "age" && text ? secondsOf(text) : NaN;
    return [name, Number.isNaN(seconds) ? text : String(seconds)];
  }));
}

export const cleared = Object.fromEntries([...CONDITIONS.map((row) => [row.name, null]), ["cursor", null]]);
export const describe = (query) => chipsOf(query).map((chip) => chip.text).join(", ");
