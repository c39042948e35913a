import { get, part, post, remove } from './client';
import type { Moment, Rate, Scope } from './types';

export interface NewKey {
  name: string;
  scopes: Scope[];
  queues?: string[]; // patterns; none: every queue
  expires?: Moment;
  rate?: Rate; // of requests
}

export interface Key extends NewKey {
  id: string;
  created_at: Moment;
}

// With the text that its owner sends; the server does not know it later.
export interface MadeKey extends Key {
  secret: string;
}

export const keys = (signal?: AbortSignal) => get<{ keys: Key[] }>('v1/keys', {}, signal).then((answer) => answer.keys);
export const create_key = (wanted: NewKey) => post<MadeKey>('v1/keys', wanted);
export const revoke_key = (id: string) => remove(`v1/keys/${part(id)}`);
