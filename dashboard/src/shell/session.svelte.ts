// Who looks at the page, and what they may do.
import { when_stranger } from '../api/client';
import { problem_of, type Problem } from '../api/problem';
import * as api from '../api/server';
import type { Scope, Session } from '../api/types';
import { type Name, routes } from '../router/routes';

// `*` stands for any characters, as in the queues of a key.
function fits(pattern: string, name: string): boolean {
  const parts = pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  return new RegExp(`^${parts.join('.*')}$`).test(name);
}

class Visitor {
  session = $state.raw<Session | null>(null);
  problem = $state.raw<Problem | null>(null);
  ended = $state(false); // was signed in, and is not any more
  readonly must_sign_in = $derived(this.session !== null && this.session.needs_key && !this.session.signed_in);
  readonly name = $derived(this.session?.key?.name ?? '');
  readonly read_only = $derived(this.session !== null && !this.must_sign_in && !this.can('admin') && !this.can('put'));

  #asked = 0; // for a session; what was asked before the last one does not count any more

  constructor() {
    when_stranger(() => void this.load());
  }

  can(scope: Scope): boolean {
    const has = this.session?.scopes ?? [];
    return has.includes(scope) || has.includes('admin');
  }

  // Whether a page is offered; the server has the last word.
  may_visit(page: Name): boolean {
    const scope = routes.find(({ name }) => name === page)?.scope;
    return scope === undefined || this.can(scope);
  }

  may_touch(queue: string): boolean {
    const patterns = this.session?.queues ?? [];
    return patterns.length === 0 || patterns.some((pattern) => fits(pattern, queue));
  }

  async load(): Promise<void> {
    try {
      const before = this.session;
      const asked = ++this.#asked;
      const session = await api.session();
      if (asked !== this.#asked) return;
      this.session = session;
      if (before?.signed_in && !this.session.signed_in) this.ended = true;
      this.problem = null;
    } catch (error) {
      this.problem = problem_of(error);
      // It may be starting.
      if (this.problem.passes && !this.session) setTimeout(() => void this.load(), this.problem.retry_after_ms ?? 2000);
    }
  }

  async sign_in(key: string): Promise<void> {
    const session = await api.sign_in(key);
    ++this.#asked;
    this.session = session;
    this.ended = false;
  }

  async sign_out(): Promise<void> {
    await api.sign_out();
    await this.load();
    this.ended = false;
  }
}

export const visitor = new Visitor();
