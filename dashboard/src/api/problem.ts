// What went wrong with a request: the server's problem+json, or that there was no answer.

export type Code =
  | 'malformed'
  | 'invalid'
  | 'unauthorized'
  | 'forbidden'
  | 'not_found'
  | 'conflict'
  | 'limited'
  | 'starting'
  | 'stopping'
  | 'unavailable'
  | 'no_space'
  | 'internal'
  | 'offline' // no server answered
  | (string & {});

export class Problem extends Error {
  readonly status: number; // 0: no server answered
  readonly code: Code;
  readonly field: string;
  readonly request_id: string;
  readonly retry_after_ms: number | null;

  constructor(given: { status: number; code: Code; detail: string; field?: string; request_id?: string; retry_after_ms?: number }) {
    super(given.detail);
    this.status = given.status;
    this.code = given.code;
    this.field = given.field ?? '';
    this.request_id = given.request_id ?? '';
    this.retry_after_ms = given.retry_after_ms ?? null;
  }

  get detail(): string {
    return this.message;
  }

  // It may be different in a moment.
  get passes(): boolean {
    return this.status === 0 || this.status === 429 || this.status >= 500;
  }
}

export function problem_of(error: unknown): Problem {
  if (error instanceof Problem) return error;
  const detail = error instanceof Error ? error.message : String(error);
  return new Problem({ status: 0, code: 'offline', detail });
}

export const was_aborted = (error: unknown): boolean =>
  error instanceof DOMException && error.name === 'AbortError';
