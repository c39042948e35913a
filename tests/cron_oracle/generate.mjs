// Writes golden.tsv: random cron expressions at random moments (UTC), and when croner says they
// fire.
//
//   expression <tab> moment <tab> next tick <tab> the one after <tab> previous tick
//
// An expression that never fires has "never" as its next tick; Millrace must refuse it.
//
//   npm install && node generate.mjs [lines] [seed] > golden.tsv
//
// Left out, because Millrace differs from croner on purpose (src/core/cron.h says how):
//   - L-n and L-nW, and LW inside a list: croner does not know them;
//   - `*/1`, and `*` inside a list, in a day field: croner counts such a field as restricted, so
//     that with a restriction in the other day field every day matches; here it is as good as `*`;
//   - SUN-SUN: a whole week in croner, a single Sunday here;
//   - 7/n as weekday: no day at all in croner, Sunday here;
//   - years (a seventh field), `+` and `#` after a range: croner's own.
// `5/15` needs croner's sloppyRanges. Moments are whole seconds: croner's previousRuns steps back a
// whole second from where it is asked.
//
// croner 11.0.0 sometimes contradicts itself, and such lines are left out: nextRuns does not stop
// at the end of a short month (if 31 February matches, it goes on from 3 March and passes over 1
// and 2 March), previousRuns overlooks an nW that is later in the month than the other days named.
import { Cron } from "croner";

const lines = Number(process.argv[2] ?? 2700);
const seed = Number(process.argv[3] ?? 20260101);

// mulberry32: small, good enough, the same everywhere.
let state = seed >>> 0;
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let t = state;
  t = Math.imul(t ^ (t >>> 15), t | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const between = (least, most) => least + Math.floor(random() * (most - least + 1));
const chance = (p) => random() < p;
const pick = (list) => list[between(0, list.length - 1)];

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];
const anyCase = (name) => pick([name, name.toLowerCase(), name[0] + name.slice(1).toLowerCase()]);

const FIELDS = {
  second: { least: 0, most: 59 },
  minute: { least: 0, most: 59 },
  hour: { least: 0, most: 23 },
  day: { least: 1, most: 31 },
  month: { least: 1, most: 12, names: MONTHS },
  weekday: { least: 0, most: 6, names: WEEKDAYS },
};

function value(field, number) {
  if (field.names && chance(0.4)) return anyCase(field.names[number - field.least]);
  if (field === FIELDS.weekday && number === 0 && chance(0.3)) return "7";
  return chance(0.05) ? String(number).padStart(2, "0") : String(number);
}

function range(field) {
  const from = between(field.least, field.most - 1);
  const to = between(from + 1, field === FIELDS.weekday && from > 0 ? 7 : field.most);
  if (to > field.most) return `${from}-${chance(0.5) ? "7" : anyCase("SUN")}`;
  if (field.names && chance(0.3))
    return `${anyCase(field.names[from - field.least])}-${anyCase(field.names[to - field.least])}`;
  return `${from}-${to}`;
}

function step(field) {
  const size = field.most - field.least + 1;
  return between(2, chance(0.8) ? Math.max(2, Math.floor(size / 2)) : size);
}

function item(field) {
  const kind = random();
  if (kind < 0.5) return value(field, between(field.least, field.most));
  if (kind < 0.7) return range(field);
  if (kind < 0.8) return `${range(field)}/${step(field)}`;
  if (kind < 0.93) return `${pick(["*", "*", "?"])}/${step(field)}`;
  return `${between(field.least, field.most)}/${step(field)}`;
}

function special(field) {
  if (field === FIELDS.day) {
    const kind = random();
    if (kind < 0.4) return "L";
    if (kind < 0.5) return "l";
    return `${between(1, 31)}${pick(["W", "W", "w"])}`;
  }
  const day = value(field, between(0, 6));
  return chance(0.4) ? `${day}L` : `${day}#${pick([1, 2, 3, 4, 5, 5, "L"])}`;
}

function fieldText(field, star) {
  if (chance(star)) return chance(0.1) ? "?" : "*";
  const dayField = field === FIELDS.day || field === FIELDS.weekday;
  if (field === FIELDS.day && chance(0.04)) return pick(["LW", "lw"]);
  const items = [];
  const count = chance(0.75) ? 1 : between(2, 4);
  for (let i = 0; i < count; ++i)
    items.push(dayField && chance(0.25) ? special(field) : item(field));
  return items.join(",");
}

const RARE = ["0 0 30 2 *", "0 0 31 4,6,9,11 *", "0 0 30,31 FEB ?", "0 0 29 2 *", "0 0 29W 2 *"];

function expression() {
  if (chance(0.01)) return pick(RARE);
  const fields = [
    fieldText(FIELDS.minute, 0.25),
    fieldText(FIELDS.hour, 0.35),
    fieldText(FIELDS.day, 0.5),
    fieldText(FIELDS.month, 0.5),
    fieldText(FIELDS.weekday, 0.5),
  ];
  if (chance(0.4)) fields.unshift(fieldText(FIELDS.second, 0.2));
  if (chance(0.01))
    return pick(["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@HOURLY"]);
  return fields.join(" ");
}

// Mostly our time; sometimes far away. croner itself stops at the year 3000.
function moment() {
  const [from, to] = pick([[2020, 2040], [2020, 2040], [1890, 2110], [1890, 2850]]);
  const least = Date.UTC(from, 0, 1) / 1000;
  const most = Date.UTC(to, 0, 1) / 1000;
  let at = between(least, most);
  if (chance(0.3)) at -= at % 86400; // midnight
  else if (chance(0.5)) at -= at % 60;
  return new Date(at * 1000);
}

const text = (date) => date.toISOString().replace(".000Z", "Z");

const out = [];
let contradictions = 0;
while (out.length < lines) {
  const pattern = expression();
  const at = moment();
  const cron = new Cron(pattern, { utcOffset: 0, sloppyRanges: true, paused: true });
  const [next, second] = cron.nextRuns(2, at);
  if (next === undefined) {
    out.push([pattern, text(at), "never", "-", "-"]);
    continue;
  }
  const [previous] = cron.previousRuns(1, at);
  if (
    cron.nextRun(previous) < at ||
    cron.previousRuns(1, next)[0] > at ||
    cron.previousRuns(1, second)[0] > next
  ) {
    ++contradictions;
    continue;
  }
  out.push([pattern, ...[at, next, second, previous].map(text)]);
}
process.stdout.write(out.map((row) => row.join("\t") + "\n").join(""));
console.error(`left out ${contradictions} times when croner contradicted itself`);
