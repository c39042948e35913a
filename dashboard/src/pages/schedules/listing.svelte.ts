// The schedules that are listed: those of the queue in the address that fit the text there. Rules are searched in
// words, which only the page knows; so page after page is looked through, until enough of them fit.
import { untrack } from 'svelte';
import { schedules as ask, type Schedule, type SchedulePage } from '../../api/schedules';
import { describe_cron, describe_interval } from '../../cron/describe';
import { poll } from '../../live/poll.svelte';
import { router } from '../../router/router.svelte';
import { language } from '../../words/language.svelte';

const step = 100; // rows at first, and with each more()
const largest = 1000; // page that the server gives
const pause = 5000; // milliseconds between two looks, for each `largest` schedules

function fits(schedule: Schedule, text: string): boolean {
  const has = (part: string | null | undefined) => part?.toLowerCase().includes(text.toLowerCase());
  const { cron, zone, every_ms = 0 } = schedule.rule;
  if ([schedule.name, String(schedule.task.queue), schedule.task.type, cron, zone].some(has)) return true;
  return Boolean(has(cron ? describe_cron(cron, language.current) : describe_interval(every_ms, language.current)));
}

// Only while a component is made.
export function listing() {
  const queue = $derived(router.get('queue'));
  const text = $derived(router.get('text'));
  // Another filter begins anew.
  let wanted = $derived.by(() => {
    void [queue, text];
    return step;
  });
  let looked_at = 0;
  const fitting_of = (all: readonly Schedule[]) => (text ? all.filter((one) => fits(one, text)) : all);

  // From the first one on, so that all rows are as they are now. What is typed meanwhile counts at once.
  async function look(queue: string, signal: AbortSignal): Promise<SchedulePage> {
    let schedules: Schedule[] = [];
    let next: string | undefined;
    do {
      const limit = untrack(() => (text ? largest : Math.min(largest, wanted - schedules.length)));
      const page = await ask({ limit, ...(queue && { queue }), ...(next && { cursor: next }) }, signal);
      schedules = [...schedules, ...page.schedules];
      next = page.next;
    } while (next && fitting_of(schedules).length < wanted);
    looked_at = schedules.length;
    return { schedules, ...(next && { next }) };
  }
  const page = poll((signal) => look(queue, signal), { every: () => pause * Math.max(1, looked_at / largest) });
  const fitting = $derived(fitting_of(page.value?.schedules ?? []));
  const ends = $derived(page.value?.next === undefined); // nothing is behind what was looked at
  const searching = $derived(page.value !== undefined && !ends && fitting.length < wanted);
  // With every answer, too: the text may have become another one while it was on its way.
  $effect(() => {
    if (page.value && searching) page.refresh();
  });

  return {
    page,
    // Those that fit, as far as was looked.
    get fitting() {
      return fitting;
    },
    get shown() {
      return fitting.slice(0, wanted);
    },
    get ends() {
      return ends;
    },
    get searching() {
      return searching;
    },
    get has_more() {
      return !ends || fitting.length > wanted;
    },
    more(): void {
      wanted += step;
    },
  };
}
