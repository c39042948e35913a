// A schedule while it is typed: all text, what is wrong with it, and what to send. That is text, too, so that
// numbers of the payload keep all their digits.
import type { Schedule, WholeSchedule } from '../../api/schedules';
import { read_cron } from '../../cron/parse';
import { say_refusal } from '../../cron/refusal';
import { duration_text, parse_duration } from '../../format/duration_text';
import { indented, json_problem, object_of } from '../../format/json';
import { type Form, named, type Patch, patch_of, without_hollow, wrong_in } from '../../settings/form';
import { read } from '../../settings/read';
import { say } from '../../settings/words';
import { meant_with, type Name, settings, settings_in } from './settings';
import { words } from './words';

export interface Draft extends Form<Name> {
  name: string;
  kind: 'cron' | 'every';
  cron: string;
  zone: string;
  every: string;
  queue: string;
  type: string;
  payload: string;
  overlap: Schedule['overlap'];
  missed: Schedule['missed'];
}
export type Problems = Partial<Record<keyof Draft, string>>;

export function draft_of(whole: WholeSchedule | null, queue: string): Draft {
  const schedule = whole?.schedule;
  return {
    name: schedule?.name ?? '',
    kind: schedule && schedule.rule.cron === undefined ? 'every' : 'cron',
    cron: schedule?.rule.cron ?? '0 3 * * *',
    zone: schedule?.rule.zone ?? (schedule ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone),
    every: duration_text(schedule?.rule.every_ms ?? 300_000),
    queue: String(schedule?.task.queue ?? queue),
    type: schedule?.task.type ?? '',
    payload: indented(whole?.payload ?? ''),
    overlap: schedule?.overlap ?? 'skip',
    missed: schedule?.missed ?? 'one',
    ...settings_in(schedule),
  };
}

const meant = (draft: Draft) => meant_with(draft.kind, draft.missed, draft);

function name_problem(text: string): string {
  const reading = read({ is: 'name' }, text);
  return 'wrong' in reading ? say(reading.wrong) : '';
}

function cron_problem(text: string): string {
  const reading = read_cron(text);
  return 'wrong' in reading ? say_refusal(reading.wrong) : '';
}

// What can be told without asking; the server knows the rest.
export function problems_of(draft: Draft): Problems {
  const found: Problems = {};
  for (const field of ['name', 'queue', 'type'] as const) {
    const problem = name_problem(draft[field]);
    if (problem) found[field] = problem;
  }
  for (const field of ['name', 'queue'] as const) {
    if (draft[field].trim() === '') found[field] = words.editor.needed;
  }
  const unreadable = draft.kind === 'cron' && cron_problem(draft.cron);
  if (unreadable) found.cron = unreadable;
  if (draft.kind === 'every' && (parse_duration(draft.every) ?? 0) < 100) found.every = words.editor.bad_interval;
  const unread = draft.payload.trim() && json_problem(draft.payload);
  if (unread) found.payload = words.editor.bad_payload(unread);
  for (const setting of meant(draft)) {
    const wrong = wrong_in(setting, draft);
    if (wrong) found[setting.name] = say(wrong);
  }
  const postpones = draft['task.unique.key'].trim() !== '' && draft['task.unique.on_conflict'] === 'postpone';
  if (postpones && (parse_duration(draft['task.delay_ms']) ?? 0) === 0) found['task.unique.on_conflict'] ??= words.editor.needs_delay;
  return found;
}

// Those to show while it is typed: of what was begun. An empty field is told of once the user has tried to save.
export const begun = (found: Problems, draft: Draft, before: Draft): Problems =>
  Object.fromEntries(Object.entries(found).filter(([field]) => {
    const text = draft[field as keyof Draft];
    return text !== before[field as keyof Draft] && text.trim() !== '';
  }));

// A browser may know fewer zones than the server does, so this is told and does not keep anyone from saving.
export function doubts_of(draft: Draft): Problems {
  const zone = draft.zone.trim();
  if (draft.kind !== 'cron' || zone === '') return {};
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return {};
  } catch {
    return { zone: words.editor.unknown_zone };
  }
}

// Where the server's words belong: to the field that it names, or to what they begin with.
const places: [start: string, field: keyof Draft][] = [
  ['cron "', 'cron'],
  ['unknown time zone', 'zone'],
  ['queue name', 'queue'],
  ['task type', 'type'],
  ['name', 'name'],
  ['there is a schedule', 'name'],
  ['rule.cron', 'cron'],
  ['rule.zone', 'zone'],
  ['rule.every', 'every'],
  ['task.queue', 'queue'],
  ['task.type', 'type'],
  ['task.payload', 'payload'],
  ['payload', 'payload'],
  ['jitter', 'jitter_ms'],
  ['anchor', 'rule.anchor'],
  ['missed_most', 'missed_most'],
  ['priority', 'task.priority'],
  ['delay', 'task.delay_ms'],
  ['timeout', 'task.timeout_ms'],
  ['keep_for', 'task.keep_for_ms'],
  ['unique key', 'task.unique.key'],
  ['unique on_conflict', 'task.unique.on_conflict'],
  ['unique max_delay', 'task.unique.max_delay_ms'],
  ['group', 'task.group'],
  ['cost', 'task.cost'],
  ['callback', 'task.callback.url'],
  ['tag ', 'task.tags'],
];
export const place_of = (problem: { field: string; detail: string }): keyof Draft | null =>
  named(settings, problem.field) ?? places.find(([start]) => (problem.field || problem.detail).startsWith(start))?.[1] ?? null;

// The members of a patch as text.
const texts_of = (patch: Patch): Record<string, string> =>
  Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, JSON.stringify(value)]));

// What a task is left without if this member goes.
const needed = { callback: 'url', unique: 'key', keep_completed: 'for_ms', keep_dead: 'for_ms' };

// What is different in the settings; `rule` and `task` go into larger objects.
function settings_patch(draft: Draft, before: Draft): { rule: Patch; task: Patch; rest: Patch } {
  // What means nothing any more goes, too: the server refuses a limit of a delay that is not postponed.
  const now = meant(draft);
  const over = meant(before).filter((setting) => setting.name === 'task.unique.max_delay_ms' && !now.includes(setting));
  const form = { ...draft, ...Object.fromEntries(over.map(({ name }) => [name, ''])) };
  const { rule = {}, task = {}, ...rest } = patch_of([...now, ...over], form, before) as { rule?: Patch; task?: Patch };
  return { rule, task: without_hollow(task, needed), rest };
}

const rule_of = (draft: Draft): Patch =>
  draft.kind === 'cron' ? { cron: draft.cron.trim(), zone: draft.zone.trim() || 'UTC' } : { every_ms: parse_duration(draft.every) ?? 0 };

// `blank` is what the form began with.
export function new_schedule(draft: Draft, blank: Draft): string {
  const type = draft.type.trim();
  const payload = draft.payload.trim();
  const { rule, task, rest } = settings_patch(draft, blank);
  return object_of({
    name: JSON.stringify(draft.name.trim()),
    rule: JSON.stringify({ ...rule_of(draft), ...rule }),
    overlap: JSON.stringify(draft.overlap),
    missed: JSON.stringify(draft.missed),
    ...texts_of(rest),
    task: object_of({
      queue: JSON.stringify(draft.queue.trim()),
      ...(type && { type: JSON.stringify(type) }),
      ...(payload && { payload }),
      ...texts_of(task),
    }),
  });
}

// A merge patch: only what is different, so that what the form does not show stays.
export function changes(draft: Draft, before: Draft): string {
  const same = (field: keyof Draft) => draft[field] === before[field];
  const more = settings_patch(draft, before);
  const old_rule = rule_of(before);
  const new_rule = Object.entries(rule_of(draft)).filter(([name, value]) => value !== old_rule[name]);
  const other_kind = draft.kind === 'cron' ? { every_ms: null, anchor: null } : { cron: null, zone: null, dst: null };
  const rule = { ...Object.fromEntries(new_rule), ...(!same('kind') && other_kind), ...more.rule };
  const task = {
    ...(!same('queue') && { queue: JSON.stringify(draft.queue.trim()) }),
    ...(!same('type') && { type: JSON.stringify(draft.type.trim() || null) }),
    ...(!same('payload') && { payload: draft.payload.trim() || 'null' }),
    ...texts_of(more.task),
  };
  return object_of({
    ...(Object.keys(rule).length > 0 && { rule: JSON.stringify(rule) }),
    ...(!same('overlap') && { overlap: JSON.stringify(draft.overlap) }),
    ...(!same('missed') && { missed: JSON.stringify(draft.missed) }),
    ...texts_of(more.rest),
    ...(Object.keys(task).length > 0 && { task: object_of(task) }),
  });
}
