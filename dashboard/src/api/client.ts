// Every request of the page goes through here. The files beside this one name the routes.
import { clock } from '../live/clock.svelte';
import { url } from '../router/base';
import { words } from '../words/shell';
import { Problem, problem_of, was_aborted } from './problem';

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
export type Query = Record<string, string | number | boolean | readonly string[] | null | undefined>;

interface Asked {
  query?: Query;
  body?: unknown;
  text?: string; // a body that is JSON already and must stay as it is, to the digit
  signal?: AbortSignal;
  timeout?: number; // milliseconds
}

// Told of answers 401: who was signed in is not any more.
let on_stranger: () => void = () => {};
export const when_stranger = (tell: () => void): void => void (on_stranger = tell);

export function address(path: string, query: Query = {}): URL {
  const to = url(path.replace(/^\//, ''));
  for (const [name, value] of Object.entries(query)) {
    if (value === null || value === undefined || value === '' || value === false) continue;
    to.searchParams.set(name, Array.isArray(value) ? value.join(',') : String(value));
  }
  return to;
}

async function read_problem(response: Response): Promise<Problem> {
  const text = await response.text();
  try {
    const said = JSON.parse(text) as { code?: string; detail?: string; field?: string };
    if (said.code && said.detail) {
      return new Problem({ ...said, code: said.code, detail: said.detail, status: response.status });
    }
  } catch {
    // Not ours: a proxy speaks.
  }
  const detail = `${response.status} ${response.statusText}`.trim();
  return new Problem({ status: response.status, code: response.status >= 500 ? 'unavailable' : 'malformed', detail });
}

// The answer as it came, for what must not lose digits by being parsed.
export async function ask_text(method: Method, path: string, asked: Asked = {}): Promise<string> {
  const given_up = AbortSignal.timeout(asked.timeout ?? 30_000);
  const leave = new AbortController();
  const end = () => leave.abort();
  given_up.addEventListener('abort', end);
  asked.signal?.addEventListener('abort', end);
  if (asked.signal?.aborted) end();
  const headers: Record<string, string> = { Accept: 'application/json' };
  // Pages of others cannot send this header, so it proves that the request is ours.
  if (method !== 'GET') headers['X-Requested-By'] = 'dashboard';
  const body = asked.text ?? (asked.body === undefined ? null : JSON.stringify(asked.body));
  if (body !== null) headers['Content-Type'] = 'application/json';
  try {
    const response = await fetch(address(path, asked.query), {
      method,
      headers,
      body,
      signal: leave.signal,
      credentials: 'same-origin',
      cache: 'no-store',
      redirect: 'error',
    });
    clock.heard(response.headers.get('Date'));
    if (response.status === 401 && !path.endsWith('v1/session')) on_stranger();
    if (!response.ok) throw await read_problem(response);
    return await response.text();
  } catch (error) {
    if (error instanceof Problem || (was_aborted(error) && asked.signal?.aborted)) throw error;
    clock.lost();
    throw new Problem({ status: 0, code: 'offline', detail: words.failure.no_answer });
  } finally {
    given_up.removeEventListener('abort', end);
    asked.signal?.removeEventListener('abort', end);
  }
}

export async function ask<T>(method: Method, path: string, asked: Asked = {}): Promise<T> {
  const text = await ask_text(method, path, asked);
  try {
    return (text === '' ? undefined : JSON.parse(text)) as T;
  } catch (error) {
    throw problem_of(error); // a proxy speaks
  }
}

export const get = <T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> =>
  ask<T>('GET', path, { ...(query && { query }), ...(signal && { signal }) });
export const post = <T>(path: string, body?: unknown): Promise<T> => ask<T>('POST', path, { body });
export const patch = <T>(path: string, body: unknown): Promise<T> => ask<T>('PATCH', path, { body });
export const remove = (path: string, query?: Query): Promise<void> => ask<void>('DELETE', path, { ...(query && { query }) });

// A name in a path.
export const part = encodeURIComponent;
