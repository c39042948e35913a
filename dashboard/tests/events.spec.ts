// The tail of events: live, filtered, paused, through a restart.
import { absence, expect, forgive, test } from './fixtures.ts';

test('events come as they happen', async ({ page, server }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.getByRole('heading', { name: 'Waiting for events' })).toBeVisible();
  await expect(page.locator('[data-live=live]')).toBeAttached();
  const id = await server.put('emails', { type: 'welcome', client_id: 'shop' });
  const rows = page.locator('[data-event]');
  await expect(rows.first()).toContainText('welcome');
  await expect(rows.first().getByRole('link', { name: id.slice(-12) })).toBeVisible();
  const [lease] = await server.take('emails', 1, 'w1');
  await server.must('POST', `/v1/tasks/${id}/progress`, { token: lease!.token, progress: 40 });
  await server.settle(lease!, { outcome: 'failed', retryable: false, error: { code: 'exit_65', message: 'm' } });
  // Newest first.
  await expect(rows).toHaveCount(4);
  await expect(rows.nth(0)).toContainText('failed, not retried');
  await expect(rows.nth(0)).toContainText('exit_65');
  await expect(rows.nth(1)).toContainText('40% done');
  await expect(rows.nth(2)).toContainText('w1');
  await rows.nth(0).getByRole('link', { name: id.slice(-12) }).click();
  await expect(page).toHaveURL(`${server.url}/tasks/${id}`);
});

test('a queue, a type, a client, a task and kinds can be chosen, in the address', async ({ page, server }) => {
  await server.put('emails', { type: 'welcome' });
  await server.put('reports');
  await page.goto(`${server.url}/events?queue=emails&type=welcome&client_id=shop`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  await server.put('reports', { type: 'welcome', client_id: 'shop' });
  await server.put('emails', { type: 'goodbye', client_id: 'shop' });
  await server.put('emails', { type: 'welcome', client_id: 'office' });
  const id = await server.put('emails', { type: 'welcome', client_id: 'shop' });
  const rows = page.locator('[data-event]');
  await expect(rows).toHaveCount(1);
  await expect(rows).toContainText(id.slice(-12));
  await page.goto(`${server.url}/events`);
  await page.getByLabel('Id of a task').or(page.getByLabel('Task', { exact: true })).fill(id);
  await expect(page).toHaveURL(`${server.url}/events?id=${id}`);
  await page.getByRole('button', { name: 'cancelled' }).click();
  await expect(page).toHaveURL(`${server.url}/events?id=${id}&event=cancelled`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  await server.put('emails');
  await server.must('PATCH', `/v1/tasks/${id}`, { priority: 9 });
  await server.must('POST', `/v1/tasks/${id}/cancel`);
  await expect(rows).toHaveCount(1);
  await expect(rows).toHaveAttribute('data-event', 'cancelled');
  await page.getByRole('button', { name: 'Problems only' }).click();
  await expect(page).toHaveURL(/event=retrying%2Cfailed%2Cdead%2Clost%2Cexpired/);
  await page.getByRole('button', { name: 'All', exact: true }).click();
  await expect(page).toHaveURL(`${server.url}/events?id=${id}`);
});

test('a pause keeps what comes, and no more than 500 are shown', async ({ page, server }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  await server.put('emails');
  const rows = page.locator('[data-event]');
  await expect(rows).toHaveCount(1);
  await page.keyboard.press('p');
  await server.put_many('emails', 30);
  await expect(page.getByText('30 new events')).toBeVisible();
  await expect(rows).toHaveCount(1);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(rows).toHaveCount(31);
  // At most 500 per second are sent; the page says how many were passed over.
  await server.put_many('emails', 3000);
  await expect(page.getByText('skipped: there are too many')).toBeVisible();
  await expect.poll(() => page.locator('tbody tr').count()).toBe(500);
  await page.getByRole('button', { name: 'Clear' }).click();
  await expect(rows).toHaveCount(0);
});

test('after a long time out of sight it is said that something may be missing', async ({ page, server }) => {
  await page.clock.install();
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  const show = (hidden: boolean) =>
    page.evaluate((now) => {
      Object.defineProperty(document, 'hidden', { configurable: true, get: () => now });
      document.dispatchEvent(new Event('visibilitychange'));
    }, hidden);
  await show(true);
  await page.clock.runFor(61_000);
  await server.put('emails', { type: 'unseen' });
  await show(false);
  await page.clock.runFor(1000);
  await expect(page.getByText('Events may be missing here')).toBeVisible();
});

test('the tail goes on after a restart, and says where something may be missing', async ({ page, server, complaints }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  await server.put('emails', { type: 'before' });
  await expect(page.locator('[data-event]')).toHaveCount(1);
  await server.stop('SIGKILL');
  await expect(page.locator('[data-live=waiting]')).toBeVisible();
  await server.start();
  await expect(page.locator('[data-live=live]')).toBeAttached({ timeout: 20_000 });
  await server.put('emails', { type: 'after' });
  await expect(page.locator('[data-event]').first()).toContainText('after');
  await expect(page.getByText('Events may be missing here')).toBeVisible();
  await expect(page.locator('[data-event]')).toHaveCount(2);
  forgive(complaints, absence);
});
