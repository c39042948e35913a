// A key that was just made, until its user has stored it. It is not of a page: with the first key of a server every
// page gives way to the sign-in, and the only copy of the key must not go with it.
import type { MadeKey } from '../api/keys';
import { visitor } from './session.svelte';

class New {
  made = $state.raw<MadeKey | null>(null);
  first = $state(false); // of this server

  // `first`: with it this page needs a key, too, so it signs in with this one.
  async show(made: MadeKey, first: boolean): Promise<void> {
    this.made = made;
    this.first = first;
    if (first) await visitor.sign_in(made.secret).catch(() => visitor.load());
  }

  stored(): void {
    this.made = null;
  }
}

export const new_key = new New();
