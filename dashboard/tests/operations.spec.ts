// Bulk operations, and the log of who did what.
import { expect, test } from './fixtures.ts';

test('operations are shown with their filter, progress and outcome', async ({ page, server }) => {
  await page.goto(`${server.url}/operations`);
  await expect(page.getByRole('heading', { name: 'No bulk operations' })).toBeVisible();
  await server.put_many('emails', 20, { type: 'newsletter', delay_ms: 3_600_000 });
  await server.put('emails', { type: 'welcome' });
  const body = { action: 'move', filter: { queue: 'emails', type: 'newsletter', state: ['delayed'] }, to: 'slow-emails' };
  const { id } = await server.must('POST', '/v1/bulk', body);
  const row = page.locator(`[data-operation="${id}"]`);
  await expect(row).toContainText('Move to slow-emails');
  await expect(row).toContainText('queue emails');
  await expect(row).toContainText('state delayed');
  await expect(row).toContainText('20 done');
  await expect(row).toHaveAttribute('data-state', 'completed');
  await row.getByRole('link', { name: 'Show tasks' }).click();
  await expect(page).toHaveURL(/\/tasks\?queue=emails&type=newsletter&state=delayed$/);
  const trial = await server.must('POST', '/v1/bulk', { action: 'cancel', filter: { queue: 'emails' }, dry_run: true });
  await page.goto(`${server.url}/operations`);
  await expect(page.locator(`[data-operation="${trial.id}"]`)).toContainText('dry run');
  await expect(page.locator(`[data-operation="${trial.id}"]`)).toContainText('1 match');
});

test('one that is under way can be stopped', async ({ page, server }) => {
  await server.put_many('numbers', 30_000);
  // One after the other: the last one has to wait, also for a slow browser.
  let id = '';
  for (let i = 0; i < 40; ++i) {
    id = (await server.must('POST', '/v1/bulk', { action: 'priority', filter: { queue: 'numbers' }, priority: 1 + (i % 2) })).id;
  }
  await page.goto(`${server.url}/operations`);
  const row = page.locator(`[data-operation="${id}"]`);
  await row.getByRole('button', { name: 'Stop: Change priority to 2' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Stop' }).click();
  await expect(row).toHaveAttribute('data-state', 'cancelled');
  await expect(row.getByRole('button')).toHaveCount(0);
});

test('older operations are shown on demand', async ({ page, server }) => {
  await server.put('emails');
  for (let i = 0; i < 103; ++i) {
    await server.must('POST', '/v1/bulk', { action: 'cancel', filter: { queue: 'emails', type: `t${i}` }, dry_run: true });
  }
  await page.goto(`${server.url}/operations`);
  await expect(page.locator('[data-operation]')).toHaveCount(100);
  await page.getByRole('button', { name: 'Show older ones' }).click();
  await expect(page.locator('[data-operation]')).toHaveCount(103);
  await expect(page.getByRole('button', { name: 'Show older ones' })).toHaveCount(0);
  for (const type of ['new', 'newer']) await server.must('POST', '/v1/bulk', { action: 'cancel', filter: { queue: 'emails', type }, dry_run: true });
  await expect(page.locator('[data-operation]')).toHaveCount(105); // none falls out between the first page and the next
});

test('who did what is written down, by the name of the key', async ({ page, server, context }) => {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  await server.put('emails');
  await server.must('POST', '/v1/queues/emails/pause', { for_ms: 60_000 });
  await context.request.post(`${server.url}/v1/session`, { data: { key: admin.secret, path: '/' }, headers: { 'X-Requested-By': 'dashboard' } });
  await page.goto(`${server.url}/actions`);
  const pause = page.locator('[data-operation=pauseQueue]');
  await expect(pause).toContainText('Paused a queue');
  await expect(pause).toContainText('ops');
  await expect(pause).toContainText('API');
  await expect(pause).toContainText('"for_ms":60000');
  await page.request.post(`${server.url}/v1/queues/emails/resume`, { headers: { 'X-Requested-By': 'dashboard' } });
  const resume = page.locator('[data-operation=resumeQueue]');
  await expect(resume).toContainText('dashboard', { timeout: 15_000 });
  // The newest is on top.
  await expect(page.locator('[data-operation]').first()).toHaveAttribute('data-operation', 'resumeQueue');
  await pause.getByRole('link', { name: 'emails' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/emails`);
});

test('the same act again is counted', async ({ page, server }) => {
  await server.put('emails');
  for (let i = 1; i <= 3; ++i) await server.must('POST', '/v1/queues/emails/pause');
  await page.goto(`${server.url}/actions`);
  const row = page.locator('[data-operation=pauseQueue]');
  await expect(row).toContainText('3 times');
  await expect(row).toContainText('anonymous');
});

test('without keys, what was done in the dashboard is told apart from programs', async ({ page, server }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await page.goto(`${server.url}/tasks`);
  await page.getByRole('button', { name: 'New task…' }).click();
  await page.getByRole('dialog').getByLabel('Queue').fill('emails');
  await page.getByRole('dialog').getByRole('button', { name: 'Put', exact: true }).click();
  await expect(page.getByText('The task is put')).toBeVisible();
  await page.goto(`${server.url}/actions`);
  await expect(page.locator('[data-operation=putTasks] .who')).toHaveText(/anonymous\s+dashboard/);
  const created = page.locator('[data-operation=createQueue]');
  await expect(created.locator('.who')).toHaveText(/anonymous\s+API/);
  await created.getByRole('link', { name: 'emails' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'New task…' }).click();
  await expect(page.getByRole('dialog').getByLabel('Queue')).toHaveValue('emails');
});
