// Counts what an operation on all that match would touch: the server tries it without doing it.
import * as api from '../../api/bulk';
import { poll, type Polled } from '../../live/poll.svelte';

interface Trial {
  of: string;
  begun: Promise<api.BulkOperation>;
  over: boolean;
}

export class Matches {
  readonly counted: Polled<api.BulkOperation | undefined>;
  #trial: Trial | null = null;

  // `request` gives the operation as JSON; empty: it is not known yet. Only while a component is made.
  constructor(request: () => string) {
    this.counted = poll(
      async (signal) => {
        const of = request();
        return of === '' ? undefined : this.#look(of, signal);
      },
      { every: () => (this.counted.value && !api.bulk_ended(this.counted.value) ? 400 : 60_000) },
    );
    $effect(() => () => void this.give_up());
  }

  async #look(of: string, signal: AbortSignal): Promise<api.BulkOperation> {
    if (this.#trial?.of !== of) {
      void this.give_up();
      this.#trial = { of, begun: api.start_bulk({ ...(JSON.parse(of) as api.BulkRequest), dry_run: true }), over: false };
    }
    const trial = this.#trial;
    const { id } = await trial.begun.catch((error: unknown) => {
      if (this.#trial === trial) this.#trial = null;
      throw error;
    });
    const seen = await api.bulk(id, signal);
    trial.over = api.bulk_ended(seen);
    return seen;
  }

  // What is still being counted need not be.
  async give_up(): Promise<void> {
    const trial = this.#trial;
    this.#trial = null;
    if (!trial || trial.over) return;
    try {
      await api.cancel_bulk((await trial.begun).id);
    } catch {
      // It did not begin, or has ended by itself.
    }
  }
}
