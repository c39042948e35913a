// Bulk operations on dead letters that are under way, whichever user started them; reports when one has ended.
import { bulk_ended, bulks, type BulkOperation } from '../../api/bulk';
import { poll, type Polled } from '../../live/poll.svelte';

const is_ours = (operation: BulkOperation): boolean =>
  !operation.dry_run && (operation.action === 'retry' || operation.action === 'remove');

export interface Running {
  all: BulkOperation[];
  of: (key: string) => BulkOperation | undefined;
  began: (operation: BulkOperation) => void; // here, just now
}

// Only while a component is made.
export function running_operations(ended: (operation: BulkOperation) => void): Running {
  let seen = new Set<string>();
  const begun = new Set<string>(); // they may end before they are seen
  let busy = false;
  const polled: Polled<BulkOperation[]> = poll(
    async (signal) => {
      const { operations } = await bulks(undefined, signal);
      for (const operation of operations) {
        if (!bulk_ended(operation)) continue;
        if (begun.delete(operation.id) || seen.has(operation.id)) ended(operation);
      }
      const open = operations.filter((operation) => is_ours(operation) && !bulk_ended(operation));
      seen = new Set(open.map((operation) => operation.id));
      busy = open.length > 0;
      return open;
    },
    { every: () => (busy ? 700 : 10_000) },
  );
  return {
    get all() {
      return polled.value ?? [];
    },
    of: (key) => (polled.value ?? []).find((operation) => operation.filter.error_group === key),
    began: ({ id }) => {
      begun.add(id);
      polled.refresh();
    },
  };
}
