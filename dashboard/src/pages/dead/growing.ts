// Whether a group grows, as far as its newest samples tell.
import type { DeadGroup } from '../../api/dead';
import { moment } from '../../format/time';

const minute = 60_000;
const few = 3;

// One more now and then is no growth, and neither is a burst that is over: several died lately, the last one just now,
// and the first one some time before.
export function grows({ samples, first_at }: DeadGroup, now: number): boolean {
  const newest = samples.map(({ failed_at }) => moment(failed_at)).sort((a, b) => b - a);
  const [last, before] = [newest[0], newest[few - 1]];
  if (last === undefined || before === undefined) return false;
  return now - last < 2 * minute && now - before < 5 * minute && last - moment(first_at) >= minute;
}
