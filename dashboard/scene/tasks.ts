// Tasks of a shop: what was done, what waits, and what went wrong.
import type { Random } from './random.ts';

const minute = 60_000;
const iso = (at: number): string => new Date(at).toISOString();
const people = ['ann', 'bob', 'carla', 'dmitri', 'eve', 'farid', 'greta', 'hiro', 'ines', 'jonas'] as const;
const workers = ['mail-1', 'mail-2', 'pay-1', 'media-1', 'media-2'] as const;

interface ArchivedTask {
  id: string;
  created_at: string;
  [field: string]: unknown;
}

interface Kind {
  queue: string;
  type: string;
  payload: (random: Random) => object;
  result: (random: Random) => object;
  run_ms: number;
}

const kinds: Kind[] = [
  {
    queue: 'emails',
    type: 'receipt',
    payload: (r) => ({ to: `${r.of(people)}@example.org`, order: r.whole(40_000, 49_999), template: 'receipt-v3' }),
    result: (r) => ({ message_id: `<${r.whole(100_000, 999_999)}@mail.example.org>` }),
    run_ms: 240,
  },
  {
    queue: 'emails',
    type: 'welcome',
    payload: (r) => ({ to: `${r.of(people)}@example.org`, language: r.of(['en', 'de', 'ru']) }),
    result: (r) => ({ message_id: `<${r.whole(100_000, 999_999)}@mail.example.org>` }),
    run_ms: 180,
  },
  {
    queue: 'payments',
    type: 'charge',
    payload: (r) => ({ order: r.whole(40_000, 49_999), amount: r.whole(900, 24_900) / 100, currency: 'EUR' }),
    result: (r) => ({ charge: `ch_${r.whole(10_000_000, 99_999_999)}`, status: 'captured' }),
    run_ms: 900,
  },
  {
    queue: 'images',
    type: 'resize',
    payload: (r) => ({ file: `uploads/IMG_${r.whole(1000, 9999)}.jpg`, widths: [320, 640, 1280] }),
    result: (r) => ({ bytes: r.whole(40_000, 900_000), variants: 3 }),
    run_ms: 2100,
  },
];

interface Trouble {
  queue: string;
  type: string;
  code: string;
  count: number;
  from: number; // minutes ago
  until: number;
  state: 'failed' | 'dead';
  retries: number;
  message: (random: Random) => string;
}

const troubles: Trouble[] = [
  { queue: 'payments', type: 'charge', code: 'gateway_timeout', count: 312, from: 96, until: 1, state: 'dead', retries: 5,
    message: (r) => `gateway pay.example.net answered 504 after ${r.whole(30_000, 31_900)} ms, order ${r.whole(40_000, 49_999)}` },
  { queue: 'emails', type: 'welcome', code: 'smtp_550', count: 87, from: 1300, until: 9, state: 'failed', retries: 0,
    message: (r) => `550 5.1.1 mailbox unavailable: ${r.of(people)}${r.whole(10, 99)}@example.org` },
  { queue: 'images', type: 'resize', code: 'decode_error', count: 41, from: 2600, until: 31, state: 'failed', retries: 0,
    message: (r) => `cannot decode "uploads/IMG_${r.whole(1000, 9999)}.heic": unsupported format` },
  { queue: 'search-index', type: 'reindex', code: 'index_read_only', count: 23, from: 340, until: 290, state: 'dead', retries: 8,
    message: (r) => `index products-${r.whole(1, 7)} is read-only: flood stage watermark exceeded` },
  { queue: 'emails', type: 'receipt', code: 'template_error', count: 9, from: 70, until: 44, state: 'failed', retries: 0,
    message: () => `variable 'total' is missing in template 'receipt-v4'` },
  { queue: 'reports', type: 'monthly', code: 'worker_lost', count: 3, from: 4000, until: 1400, state: 'dead', retries: 0,
    message: () => 'the worker went away 4 times while it ran this task' },
]; // prettier-ignore

function done(now: number, random: Random): ArchivedTask {
  const kind = random.of(kinds);
  const at = now - random.whole(1, 170) * minute - random.whole(0, 59_999);
  const started = at + random.whole(20, 4000);
  const ended = started + Math.round(kind.run_ms * (0.5 + random.next() * 1.4));
  const worker = random.of(workers);
  return {
    id: random.id(at),
    queue: kind.queue,
    state: 'completed',
    type: kind.type,
    payload: JSON.stringify(kind.payload(random)),
    priority: random.of([5, 5, 5, 8, 2]),
    client_id: random.of(['shop', 'shop', 'back-office']),
    counters: { deliveries: 1 },
    created_at: iso(at),
    updated_at: iso(ended),
    start: iso(at),
    started_at: iso(started),
    finished_at: iso(ended),
    worker,
    result: JSON.stringify(kind.result(random)),
    history: [{ started_at: iso(started), ended_at: iso(ended), event: 'done', worker }],
  };
}

function dead(trouble: Trouble, now: number, random: Random): ArchivedTask {
  const ended = now - Math.round((trouble.until + random.next() ** 1.6 * (trouble.from - trouble.until)) * minute);
  const at = ended - (4 + trouble.retries * 30) * 1000;
  const worker = random.of(workers);
  const message = trouble.message(random);
  const payload = kinds.find((kind) => kind.queue === trouble.queue && kind.type === trouble.type)?.payload(random) ?? { run: random.whole(1, 99) };
  const runs = Array.from({ length: trouble.retries + 1 }, (_, i) => at + 500 + i * 30_000);
  return {
    id: random.id(at),
    queue: trouble.queue,
    state: trouble.state,
    type: trouble.type,
    payload: JSON.stringify(payload),
    priority: 5,
    client_id: 'shop',
    counters: { deliveries: runs.length, ...(trouble.retries > 0 && { attempts: trouble.retries, retries: trouble.retries }) },
    created_at: iso(at),
    updated_at: iso(ended),
    start: iso(at),
    started_at: iso(runs[runs.length - 1] ?? at),
    finished_at: iso(ended),
    worker,
    error: { code: trouble.code, message, failed_at: iso(ended) },
    history: runs.map((started, i) => ({
      started_at: iso(started),
      ended_at: iso(i === runs.length - 1 ? ended : started + 2000),
      event: 'fail',
      worker,
      error_code: trouble.code,
      error_message: message,
    })),
  };
}

function waiting(queue: string, type: string, payload: object, at: number, start: number, now: number, random: Random): ArchivedTask {
  return {
    id: random.id(at),
    queue,
    type,
    state: start > now ? 'delayed' : 'queued',
    payload: JSON.stringify(payload),
    priority: random.of([5, 5, 5, 8, 2]),
    client_id: random.of(['shop', 'back-office']),
    created_at: iso(at),
    updated_at: iso(at),
    start: iso(start),
  };
}

export function archived_tasks(now: number, random: Random): ArchivedTask[] {
  const all: ArchivedTask[] = Array.from({ length: 700 }, () => done(now, random));
  for (const trouble of troubles) for (let i = 0; i < trouble.count; ++i) all.push(dead(trouble, now, random));
  for (let i = 0; i < 1840; ++i) {
    const at = now - random.whole(1, 48) * minute;
    all.push(waiting('search-index', 'reindex', { product: random.whole(1, 90_000) }, at, at, now, random));
  }
  for (let i = 0; i < 240; ++i) {
    const at = now - random.whole(1, 300) * minute;
    const newsletter = { to: `${random.of(people)}${i}@example.org`, campaign: 'winter-sale' };
    all.push({ ...waiting('emails', 'newsletter', newsletter, at, now + random.whole(20, 400) * minute, now, random), tags: ['campaign', 'winter-sale'] });
  }
  for (let i = 0; i < 14; ++i) {
    const at = now - random.whole(5, 40) * minute;
    all.push(waiting('reports', 'daily', { shop: random.of(['berlin', 'paris', 'oslo']) }, at, at, now, random));
  }
  return all.sort((a, b) => (a.created_at < b.created_at ? -1 : 1));
}

// The task whose page is looked at: it failed twice, and runs again.
export function hero(now: number, random: Random): { task: ArchivedTask; family: ArchivedTask[] } {
  const at = now - 11 * minute;
  const upload: ArchivedTask = {
    ...waiting('video', 'upload', { user: 4711, file: 'uploads/holiday.mov' }, at - 20_000, at - 20_000, now, random),
    state: 'completed',
    counters: { deliveries: 1 },
    started_at: iso(at - 19_000),
    finished_at: iso(at),
    updated_at: iso(at),
    worker: 'media-1',
    result: JSON.stringify({ bytes: 214_578_176 }),
    history: [{ started_at: iso(at - 19_000), ended_at: iso(at), event: 'done', worker: 'media-1' }],
  };
  const failed = (started: number, ended: number, code: string, message: string) => ({
    ...{ started_at: iso(started), ended_at: iso(ended), event: 'retry', worker: 'media-2', error_code: code, error_message: message },
  });
  const payload = { file: 'uploads/holiday.mov', to: ['1080p', '720p', '480p'], codec: 'h264', owner: { id: 4711, name: 'Ann Lee' }, watermark: false };
  const first = [at + 1500, at + 96_000] as const;
  const second = [at + 126_000, at + 341_000] as const;
  const task: ArchivedTask = {
    ...waiting('video', 'transcode', payload, at, at + 401_000, now, random),
    priority: 8,
    state: 'queued',
    client_id: 'shop',
    tags: ['premium', 'mobile'],
    metadata: JSON.stringify({ trace: '7f3a91c2', region: 'eu-west' }),
    parent: upload.id,
    counters: { deliveries: 2, attempts: 2, retries: 2 },
    started_at: iso(second[0]),
    worker: 'media-2',
    error: { code: 'encoder_crashed', message: 'ffmpeg ended with signal 9 at 00:41:07', failed_at: iso(second[1]) },
    history: [
      failed(first[0], first[1], 'disk_full', 'no space left on device: /scratch/7f3a91c2'),
      failed(second[0], second[1], 'encoder_crashed', 'ffmpeg ended with signal 9 at 00:41:07'),
    ],
    log: [
      { at: iso(second[0] + 800), text: 'probing uploads/holiday.mov: 00:58:12, 3840×2160, hevc' },
      { at: iso(second[0] + 5200), text: 'pass 1 of 2: 1080p' },
    ],
  };
  const child = { ...waiting('images', 'thumbnail', { file: 'uploads/holiday.mov', at: 12 }, at + 127_000, at + 127_000, now, random), parent: task.id };
  return { task, family: [upload, child] };
}
