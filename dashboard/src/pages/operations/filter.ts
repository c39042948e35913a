// What an operation is about: as parts to show, and as an address that shows the tasks.
import type { BulkFilter } from '../../api/bulk';
import { local, moment } from '../../format/time';
import { visible } from '../../format/visible';
import { path_of } from '../../router/routes';
import { names } from '../../words/names';
import { words } from './words';

type Field = keyof typeof words.fields;

function text_of(name: Field, filter: BulkFilter): string {
  const value = filter[name];
  if (name === 'state') return (filter.state ?? []).map((state) => names.state[state]).join(', ');
  if (name === 'created_from' || name === 'created_until') return local(moment(String(value)));
  if (name === 'type' && value === '') return words.no_type;
  return visible(String(value));
}

export function parts_of(filter: BulkFilter): { name: Field; label: string; value: string }[] {
  return (Object.keys(words.fields) as Field[])
    .filter((name) => filter[name] !== undefined)
    .map((name) => ({ name, label: words.fields[name], value: text_of(name, filter) }));
}

export function tasks_path(filter: BulkFilter): string {
  const { state, created_from, created_until, priority, ...rest } = filter;
  const query: Record<string, string> = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== ''));
  if (state) query.state = state.join(',');
  if (priority !== undefined) query.priority = String(priority);
  if (created_from) query.from = created_from;
  if (created_until) query.until = created_until;
  return path_of.tasks(query);
}
