// The queues in the order that the user chose.
import type { Stats } from '../../api/types';
import { moment } from '../../format/time';

export const columns = ['queue', 'ready', 'running', 'later', 'dead', 'rate', 'failing', 'oldest'] as const;
export type Column = (typeof columns)[number];

const share = ({ rates }: Stats): number => (rates.finish > 0 ? rates.fail / rates.finish : 0);

const value: Record<Exclude<Column, 'queue'>, (one: Stats) => number> = {
  ready: (one) => one.ready,
  running: (one) => one.taken,
  later: (one) => one.delayed,
  dead: (one) => one.states.failed + one.states.dead,
  rate: (one) => one.rates.finish,
  failing: share,
  oldest: (one) => (one.oldest ? -moment(one.oldest) : -Infinity), // the longest wait is the greatest
};

export function sorted(all: readonly Stats[], by: Column, down: boolean): Stats[] {
  const sign = down ? -1 : 1;
  const compare = (a: Stats, b: Stats) => a.queue.localeCompare(b.queue);
  if (by === 'queue') return [...all].sort((a, b) => sign * compare(a, b));
  const of = value[by];
  return [...all].sort((a, b) => {
    const [x, y] = [of(a), of(b)];
    return x === y ? compare(a, b) : sign * (x < y ? -1 : 1);
  });
}
