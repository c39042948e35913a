// What people did in the last hours, as the action log keeps it: a memo an hour (src/api/server/action_log.cc).
interface Did {
  minutes: number; // ago
  operation: string;
  subject?: string;
  request?: object;
  name: string;
  session?: boolean;
  count?: number;
}

const all: Did[] = [
  { minutes: 62, operation: 'retryTask', subject: '01a1df80-6c1e-7c55-9a54-3f0e6c2b7d11', name: 'ops', session: true, count: 4 },
  { minutes: 75, operation: 'startBulk', request: { action: 'retry', filter: { queue: 'payments', type: 'charge', error_code: 'gateway_timeout' } }, name: 'ops', session: true },
  { minutes: 83, operation: 'resumeQueue', subject: 'payments', name: 'ops', session: true },
  { minutes: 91, operation: 'pauseQueue', subject: 'payments', request: { for_ms: 600_000 }, name: 'ops', session: true },
  { minutes: 140, operation: 'changeQueue', subject: 'emails', request: { max_concurrent: 20 }, name: 'support', session: true },
  { minutes: 185, operation: 'runSchedule', subject: 'nightly-report', name: 'support', session: true },
  { minutes: 260, operation: 'changeSchedule', subject: 'digest', request: { rule: { cron: '30 8 * * MON-FRI', zone: 'Europe/Berlin' } }, name: 'deploy' },
  { minutes: 261, operation: 'replaceQueue', subject: 'images', request: { description: 'Pictures of products', max_concurrent: 12 }, name: 'deploy', count: 7 },
  { minutes: 410, operation: 'createKey', request: { name: 'wallboard', scopes: ['read'] }, name: 'support' },
  { minutes: 1450, operation: 'removeDead', request: { all: true, queue: 'reports' }, name: 'ops', session: true },
  { minutes: 2890, operation: 'clearQueue', subject: 'search-index', name: 'support', session: true },
];

interface Memo {
  memo: { key: string; value: string; version: number; expires: string };
}

export function action_memos(now: number): Memo[] {
  const hours = new Map<number, object[]>();
  for (const { minutes, request, count = 1, ...did } of [...all].reverse()) {
    const at = now - minutes * 60_000;
    const hour = Math.floor(at / 3_600_000);
    const more = { ...(request && { request: JSON.stringify(request) }), ...(count > 1 && { last_at: new Date(at + 45_000).toISOString() }) };
    hours.set(hour, [...(hours.get(hour) ?? []), { at: new Date(at).toISOString(), count, ...did, ...more, key: did.name }]);
  }
  return [...hours].map(([hour, actions]) => ({
    memo: {
      key: `$action/${String(9_999_999_999 - hour).padStart(10, '0')}`,
      value: JSON.stringify({ actions }),
      version: 1,
      expires: new Date(now + 30 * 86_400_000).toISOString(),
    },
  }));
}
