// What needs attention, in its order: the gravest first, and what many queues have in one line.
import { expect, forgive, test } from './fixtures.ts';
import type { Page } from '@playwright/test';

async function told(page: Page, alerts: object[]): Promise<void> {
  const since = new Date(Date.now() - 60_000).toISOString();
  const all = alerts.map((one) => ({ level: 'error', since, message: '', ...one }));
  await page.route('**/v1/alerts', (route) => route.fulfill({ json: { alerts: all, total: all.length } }));
}
const keys = (page: Page) => page.locator('[data-attention]').evaluateAll((all) => all.map((one) => (one as HTMLElement).dataset.attention));

test('by severity, then by how many; queues of the server come last, and lead to their page', async ({ page, server }) => {
  await server.put('small');
  await told(page, [
    { kind: 'dead_growing', queue: '$webhooks', count: 400 },
    { kind: 'dead_growing', queue: 'a-few', count: 4 },
    { kind: 'queue_deep', queue: 'deep', level: 'warning', count: 100_000 },
    { kind: 'dead_growing', queue: 'payments', count: 319 },
    { kind: 'disk_low', count: 1000 },
  ]);
  await page.goto(server.url);
  await expect(page.locator('[data-attention]').first()).toContainText('The disk is nearly full');
  await expect(page.getByRole('heading', { name: '6 things need attention' })).toBeAttached();
  await page.getByRole('button', { name: '1 more' }).click();
  expect(await keys(page)).toEqual(['disk_low ', 'dead_growing payments', 'dead_growing a-few', 'dead_growing $webhooks', 'queue_deep deep', 'never_asked small']);
  const internal = page.locator('[data-attention="dead_growing $webhooks"]');
  await expect(internal).toContainText('internal');
  await internal.getByRole('link', { name: '$webhooks' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/%24webhooks`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('$webhooks');
  await expect(page.locator('[data-condition]')).toHaveText('active');
});

test('the same trouble of many queues is one line, and opens', async ({ page, server }) => {
  const tasks = Array.from({ length: 70 }, (_, i) => Array.from({ length: 1 + (i === 33 ? 5 : 0) }, () => ({ queue: `tenant-${String(i).padStart(2, '0')}` })));
  await server.must('POST', '/v1/tasks', tasks.flat());
  await told(page, [{ kind: 'dead_growing', queue: 'payments', count: 3 }]);
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: '2 things need attention' })).toBeAttached();
  expect(await keys(page)).toEqual(['dead_growing payments', 'many warn never_asked']);
  const many = page.getByRole('button', { name: '70 queues have had no worker yet; 75 tasks are ready' });
  await many.click();
  await expect(many).toHaveAttribute('aria-expanded', 'true');
  const inside = page.locator('[data-attention="many warn never_asked"] [data-attention]');
  await expect(inside).toHaveCount(70);
  await expect(inside.first()).toContainText('tenant-33'); // with the most tasks
  await inside.first().getByRole('link', { name: 'tenant-33' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/tenant-33`);
});

test('three queues with the same trouble are three lines', async ({ page, server }) => {
  for (const queue of ['one', 'two', 'three']) await server.put(queue);
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: '3 things need attention' })).toBeAttached();
});

test('dead letters of an internal queue are reachable', async ({ page, server, complaints }) => {
  await server.put('emails');
  await told(page, [{ kind: 'dead_growing', queue: '$webhooks', count: 4 }]);
  await page.goto(server.url);
  await page.getByRole('link', { name: '4 more dead letters in 5 minutes' }).click();
  await expect(page).toHaveURL(`${server.url}/dead?queue=%24webhooks`);
  await expect(page.getByLabel('Queue')).toHaveValue('$webhooks');
  await expect(page.getByRole('heading', { name: 'No dead letters match the filter' })).toBeVisible();
  forgive(complaints, /status of 404/);
});
