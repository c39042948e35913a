// A schedule while it is typed: all text, what is wrong with it, and what to send. That is text, too, so that
// numbers of the payload keep all their digits.
import type { Schedule, TickRule, WholeSchedule } from '../../api/schedules';
import { parse_cron } from '../../cron/parse';
import { duration_text, parse_duration } from '../../format/duration_text';
import { indented, json_problem, object_of } from '../../format/json';
import { words } from './words';

export interface Draft {
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
  };
}

// What can be told without asking; the server knows the rest.
export function problems_of(draft: Draft): Problems {
  const found: Problems = {};
  if (!/^[A-Za-z0-9._:-]{1,100}$/.test(draft.name)) found.name = words.editor.bad_name;
  if (draft.queue.trim() === '') found.queue = words.editor.needed;
  if (draft.kind === 'cron' && parse_cron(draft.cron) === null) found.cron = words.editor.unreadable;
  if (draft.kind === 'every' && (parse_duration(draft.every) ?? 0) < 100) found.every = words.editor.bad_interval;
  const wrong = draft.payload.trim() && json_problem(draft.payload);
  if (wrong) found.payload = words.editor.bad_payload(wrong);
  return found;
}

// Where the server's words belong: to the field that it names, or to what they begin with.
const places: [start: string, field: keyof Draft][] = [
  ['cron "', 'cron'],
  ['unknown time zone', 'zone'],
  ['queue name', 'queue'],
  ['task type', 'type'],
  ['name', 'name'],
  ['rule.cron', 'cron'],
  ['rule.zone', 'zone'],
  ['rule.every', 'every'],
  ['task.queue', 'queue'],
  ['task.type', 'type'],
  ['task.payload', 'payload'],
];
export const place_of = (problem: { field: string; detail: string }): keyof Draft | null =>
  places.find(([start]) => (problem.field || problem.detail).startsWith(start))?.[1] ?? null;

const rule_of = (draft: Draft): TickRule =>
  draft.kind === 'cron'
    ? { cron: draft.cron.trim(), zone: draft.zone.trim() || 'UTC' }
    : { every_ms: parse_duration(draft.every) ?? 0 };

export function new_schedule(draft: Draft): string {
  const type = draft.type.trim();
  const payload = draft.payload.trim();
  return object_of({
    name: JSON.stringify(draft.name),
    rule: JSON.stringify(rule_of(draft)),
    overlap: JSON.stringify(draft.overlap),
    missed: JSON.stringify(draft.missed),
    task: object_of({ queue: JSON.stringify(draft.queue.trim()), ...(type && { type: JSON.stringify(type) }), ...(payload && { payload }) }),
  });
}

// A merge patch: only what is different, so that what the form does not show stays.
export function changes(draft: Draft, before: Draft): string {
  const same = (...fields: (keyof Draft)[]) => fields.every((field) => draft[field] === before[field]);
  const task = {
    ...(!same('queue') && { queue: JSON.stringify(draft.queue.trim()) }),
    ...(!same('type') && { type: JSON.stringify(draft.type.trim() || null) }),
    ...(!same('payload') && { payload: draft.payload.trim() || 'null' }),
  };
  const other = draft.kind === 'cron' ? { every_ms: null, anchor: null } : { cron: null, zone: null, dst: null };
  const rule = { ...rule_of(draft), ...(!same('kind') && other) };
  return object_of({
    ...(!same('kind', 'cron', 'zone', 'every') && { rule: JSON.stringify(rule) }),
    ...(!same('overlap') && { overlap: JSON.stringify(draft.overlap) }),
    ...(!same('missed') && { missed: JSON.stringify(draft.missed) }),
    ...(Object.keys(task).length > 0 && { task: object_of(task) }),
  });
}
