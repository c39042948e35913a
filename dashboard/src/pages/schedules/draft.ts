// A schedule while it is typed: all text, what is wrong with it, and what to send.
import type { Schedule, TickRule } from '../../api/schedules';
import { parse_cron } from '../../cron/parse';
import { duration_text, parse_duration } from '../../format/duration_text';
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

export function draft_of(schedule: Schedule | null, queue: string): Draft {
  const payload = schedule?.task.payload;
  return {
    name: schedule?.name ?? '',
    kind: schedule && schedule.rule.cron === undefined ? 'every' : 'cron',
    cron: schedule?.rule.cron ?? '0 3 * * *',
    zone: schedule?.rule.zone ?? (schedule ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone),
    every: duration_text(schedule?.rule.every_ms ?? 300_000),
    queue: String(schedule?.task.queue ?? queue),
    type: schedule?.task.type ?? '',
    payload: payload === undefined ? '' : JSON.stringify(payload, null, 2),
    overlap: schedule?.overlap ?? 'skip',
    missed: schedule?.missed ?? 'one',
  };
}

function problem_of_payload(text: string): string | undefined {
  if (text.trim() === '') return undefined;
  try {
    JSON.parse(text);
    return undefined;
  } catch (error) {
    return words.editor.bad_payload(error instanceof Error ? error.message : '');
  }
}

// What can be told without asking; the server knows the rest.
export function problems_of(draft: Draft): Problems {
  const found: Problems = {};
  if (!/^[A-Za-z0-9._:-]{1,100}$/.test(draft.name)) found.name = words.editor.bad_name;
  if (draft.queue.trim() === '') found.queue = words.editor.needed;
  if (draft.kind === 'cron' && parse_cron(draft.cron) === null) found.cron = words.editor.unreadable;
  if (draft.kind === 'every' && (parse_duration(draft.every) ?? 0) < 100) found.every = words.editor.bad_interval;
  const payload = problem_of_payload(draft.payload);
  if (payload) found.payload = payload;
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

export function new_schedule(draft: Draft): object {
  return {
    name: draft.name,
    rule: rule_of(draft),
    overlap: draft.overlap,
    missed: draft.missed,
    task: {
      queue: draft.queue.trim(),
      ...(draft.type.trim() && { type: draft.type.trim() }),
      ...(draft.payload.trim() && { payload: JSON.parse(draft.payload) as unknown }),
    },
  };
}

// A merge patch: only what is different, so that what the form does not show stays.
export function changes(draft: Draft, before: Draft): object {
  const same = (...fields: (keyof Draft)[]) => fields.every((field) => draft[field] === before[field]);
  const task = {
    ...(!same('queue') && { queue: draft.queue.trim() }),
    ...(!same('type') && { type: draft.type.trim() || null }),
    ...(!same('payload') && { payload: draft.payload.trim() ? (JSON.parse(draft.payload) as unknown) : null }),
  };
  const other = draft.kind === 'cron' ? { every_ms: null, anchor: null } : { cron: null, zone: null, dst: null };
  const rule = { ...rule_of(draft), ...(!same('kind') && other) };
  return {
    ...(!same('kind', 'cron', 'zone', 'every') && { rule }),
    ...(!same('overlap') && { overlap: draft.overlap }),
    ...(!same('missed') && { missed: draft.missed }),
    ...(Object.keys(task).length > 0 && { task }),
  };
}
