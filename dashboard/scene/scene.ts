// A shop's server on a lively afternoon, for pictures and for tests that look at every page.
import type { Server } from '../tests/server.ts';
import { action_memos } from './actions.ts';
import { history_memos, type Traffic } from './history.ts';
import { Random } from './random.ts';
import { archived_tasks, hero } from './tasks.ts';

const traffic: Traffic[] = [
  { queue: 'emails', type: 'receipt', a_minute: 560, wait_ms: 60, run_ms: 220, retried: 0.01, dead: 0.002 },
  { queue: 'emails', type: 'welcome', a_minute: 280, wait_ms: 70, run_ms: 180, retried: 0.01, dead: 0.004 },
  { queue: 'payments', type: 'charge', a_minute: 230, wait_ms: 120, run_ms: 700, retried: 0.02, dead: 0.004 },
  { queue: 'payments', type: 'refund', a_minute: 110, wait_ms: 100, run_ms: 700, retried: 0.01, dead: 0 },
  { queue: 'images', type: 'resize', a_minute: 75, wait_ms: 200, run_ms: 900, retried: 0.01, dead: 0.001 },
  { queue: 'images', type: 'thumbnail', a_minute: 75, wait_ms: 180, run_ms: 600, retried: 0, dead: 0 },
  { queue: 'analytics', type: 'page_view', a_minute: 1250, wait_ms: 30, run_ms: 120, retried: 0, dead: 0 },
  { queue: 'search-index', type: 'reindex', a_minute: 38, wait_ms: 1500, run_ms: 300, retried: 0.01, dead: 0 },
];

const queues: Record<string, object> = {
  emails: { description: 'Everything that goes to customers by mail', max_concurrent: 20, put_rate: { max: 5000, per_ms: 60_000 }, retry: { backoff: 'exponential', base_ms: 2000, max_retries: 5 }, types: [{ type: 'receipt', timeout_ms: 20_000, retry: { max_retries: 10, cap_ms: 600_000 } }] },
  payments: { description: 'Charges and refunds', max_concurrent: 10, timeout_ms: 60_000, lease_ms: 120_000, retry: { backoff: 'exponential', base_ms: 10_000, max_retries: 5 } },
  images: { description: 'Pictures of products', max_concurrent: 12 },
  video: { max_concurrent: 2, lease_ms: 600_000 },
  analytics: { process_rate: { max: 6000, per_ms: 60_000 } },
  'search-index': { description: 'Products into the search index' },
  reports: { description: 'For accounting' },
};

const schedules = [
  { name: 'nightly-report', rule: { cron: '0 3 * * *', zone: 'Europe/Berlin' }, task: { queue: 'reports', type: 'daily', payload: JSON.stringify({ shop: 'berlin' }) } },
  { name: 'monthly-report', rule: { cron: '0 6 1 * *', zone: 'Europe/Berlin' }, task: { queue: 'reports', type: 'monthly' } },
  { name: 'digest', rule: { cron: '30 8 * * MON-FRI', zone: 'Europe/Berlin' }, task: { queue: 'emails', type: 'digest' } },
  { name: 'bank-statements', rule: { every_ms: 900_000 }, task: { queue: 'payments', type: 'statements' } },
  { name: 'reindex-changed', rule: { cron: '*/10 * * * *' }, task: { queue: 'search-index', type: 'changed' } },
];

const operations = [
  { action: 'remove', filter: { queue: 'search-index', type: 'reindex', state: ['dead'], created_until: '2020-01-01T00:00:00Z' } },
  { action: 'priority', filter: { queue: 'emails', tag: 'winter-sale' }, priority: 'low' },
  { action: 'move', filter: { queue: 'search-index', client_id: 'back-office', priority: 2, state: ['queued'] }, to: 'search-index-slow' },
  { action: 'cancel', filter: { queue: 'reports', type: 'daily', priority: 2 }, reason: 'sent by hand' },
  { action: 'retry', filter: { queue: 'payments', type: 'charge' }, dry_run: true },
];

async function import_past(server: Server, now: number, random: Random): Promise<string> {
  const { task, family } = hero(now, random);
  const tasks = [...archived_tasks(now, random), ...family, task].sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
  await server.import({
    queues: Object.entries(queues).map(([name, settings]) => ({ name, ...settings })),
    schedules,
    memos: [...history_memos(traffic, now, random), ...action_memos(now)].map((one) => one.memo),
    tasks,
  });
  return task.id;
}

// What runs, and says how far it is.
async function begin_work(server: Server, hero_id: string): Promise<void> {
  const [film] = await server.take('video', 1, 'media-2');
  if (film?.id !== hero_id) throw new Error('the video was not taken');
  const lines = ['probing uploads/holiday.mov: 00:58:12, 3840×2160, hevc', 'pass 1 of 2: 1080p', 'pass 2 of 2: 1080p, 41 fps', 'wrote 1080p: 1.2 GB', 'pass 1 of 2: 720p'];
  await server.must('POST', `/v1/tasks/${film.id}/log`, { token: film.token, lines });
  await server.must('POST', `/v1/tasks/${film.id}/progress`, { token: film.token, progress: 64 });
  await server.put_many('images', 9, { type: 'resize', payload: { file: 'uploads/IMG_2207.jpg' } });
  const pictures = await server.take('images', 5, 'media-1');
  for (const [i, picture] of pictures.entries()) {
    await server.must('POST', `/v1/tasks/${picture.id}/progress`, { token: picture.token, progress: 15 + i * 17 });
  }
}

// A worker tells how it fares.
export async function beat(server: Server): Promise<void> {
  const report = (queue: string, busy: number, most: number, handled: number, errors = 0, last_error = '') => ({
    ...{ queue, processors: most, most, busy, handled, errors, busy_ms: handled * 240, ...(last_error && { last_error }) },
  });
  const of = (name: string, processors: number, all: object[]) => server.must('POST', `/v1/workers/${name}/beat`, { processors, queues: all });
  await of('mail-1', 12, [report('emails', 7, 10, 18_240, 12, '550 5.1.1 mailbox unavailable'), report('analytics', 1, 2, 90_112)]);
  await of('mail-2', 12, [report('emails', 4, 10, 17_903, 9), report('analytics', 1, 2, 88_401)]);
  await of('pay-1', 10, [report('payments', 6, 10, 7_310, 312, 'gateway pay.example.net answered 504 after 30118 ms')]);
  await of('media-1', 6, [report('images', 5, 6, 4_188, 41, 'cannot decode "uploads/IMG_7714.heic": unsupported format')]);
  await of('media-2', 2, [report('video', 1, 2, 96, 2, 'ffmpeg ended with signal 9 at 00:41:07')]);
}

// Those that a shop has beside that of its operators. Only for a server that has one: the first key must be for an admin.
export async function make_keys(server: Server): Promise<void> {
  const in_days = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString();
  const keys = [
    { name: 'shop', scopes: ['put'], queues: ['emails', 'payments', 'images'], rate: { max: 500, per_ms: 1000 } },
    { name: 'mail workers', scopes: ['work'], queues: ['emails', 'analytics'] },
    { name: 'media workers', scopes: ['work'], queues: ['images', 'video'] },
    { name: 'deploy', scopes: ['admin'], expires: in_days(90) },
    { name: 'wallboard', scopes: ['read'], expires: in_days(365) },
  ];
  for (const key of keys) await server.must('POST', '/v1/keys', key);
}

// Everything that can be seen standing still. Returns the id of the task to look at.
export async function set_scene(server: Server, now = Date.now()): Promise<string> {
  const random = new Random(7);
  const hero_id = await import_past(server, now, random);
  // What came in with the archive has not happened on this server: let it forget that it saw it come.
  await server.stop();
  await server.start();
  await server.must('POST', '/v1/schedules/monthly-report/pause');
  await server.must('POST', '/v1/queues/reports/pause', { for_ms: 25 * 60_000 });
  await begin_work(server, hero_id);
  await beat(server);
  for (const request of operations) {
    const { id } = await server.must('POST', '/v1/bulk', request);
    await server.must('GET', `/v1/bulk/${id}?wait=10s`);
  }
  return hero_id;
}
