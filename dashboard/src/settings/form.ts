// Settings as a form: the text of each by its name, and the merge patch of what is different.
import { type Kind, read, text_of, type Wrong } from './read';

export interface Setting<Name extends string = string> {
  name: Name; // dots lead into objects
  kind: Kind;
  usual: string; // what holds where nothing is said
}
export type Form<Name extends string> = Record<Name, string>;

export const settings_of = <Name extends string>(described: Record<Name, readonly [Kind, string]>): Setting<Name>[] =>
  Object.entries<readonly [Kind, string]>(described).map(([name, [kind, usual]]) => ({ name: name as Name, kind, usual }));

function at(object: object, name: string): unknown {
  let value: unknown = object;
  for (const part of name.split('.')) value = (value as Record<string, unknown> | undefined)?.[part];
  return value;
}

export const form_of = <Name extends string>(settings: readonly Setting<Name>[], object: object): Form<Name> =>
  Object.fromEntries(
    settings.map(({ name, kind, usual }) => [name, text_of(at(object, name), kind) || (kind.is === 'choice' && kind.always ? usual : '')]),
  ) as Form<Name>;

export const changed = <Name extends string>(settings: readonly Setting<Name>[], form: Form<Name>, before: Form<Name>): Setting<Name>[] =>
  settings.filter(({ name }) => form[name].trim() !== before[name].trim());

export function wrong_in<Name extends string>({ kind, name }: Setting<Name>, form: Form<Name>): Wrong | null {
  const reading = read(kind, form[name]);
  return 'wrong' in reading ? reading.wrong : null;
}

export type Patch = { [part: string]: unknown };

export function patch_of<Name extends string>(settings: readonly Setting<Name>[], form: Form<Name>, before: Form<Name>): Patch {
  const patch: Patch = {};
  for (const { name, kind } of changed(settings, form, before)) {
    const reading = read(kind, form[name]);
    if ('wrong' in reading) continue;
    const above = name.split('.');
    const last = above.pop() ?? '';
    let inner = patch;
    for (const part of above) inner = (inner[part] ??= {}) as Patch;
    inner[last] = reading.value;
  }
  return patch;
}

// Objects that are nothing without one of their members go as a whole when it goes: `needed` has its name.
export function without_hollow(patch: Patch, needed: Readonly<Record<string, string>>): Patch {
  const hollow = (name: string, value: unknown) => {
    const member = needed[name];
    return member !== undefined && typeof value === 'object' && value !== null && (value as Patch)[member] === null;
  };
  return Object.fromEntries(Object.entries(patch).map(([name, value]) => [name, hollow(name, value) ? null : value]));
}

// Which setting the server's words about a field are of.
export const named = <Name extends string>(settings: readonly Setting<Name>[], field: string): Name | null =>
  settings.find(({ name }) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))?.name ?? null;
