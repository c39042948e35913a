// What is done to selected tasks, and to all that match.
import type { Page, Request } from '@playwright/test';
import { expect, forgive, test } from './fixtures.ts';
import type { Server } from './server.ts';

const rows = (page: Page) => page.locator('tbody tr[data-task]');
const row = (page: Page, id: string) => page.locator(`tr[data-task="${id}"]`);

async function states(server: Server, query: string): Promise<string[]> {
  const { tasks } = await server.must('GET', `/v1/tasks?${query}`);
  return tasks.map((task: { state: string }) => task.state);
}

test('some are selected and retried, after a question', async ({ page, server }) => {
  const ids: string[] = [];
  for (let i = 0; i < 3; ++i) ids.push(await server.fail('emails', { message: `no route ${i}` }));
  const waiting = await server.put('images');
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel(`Select ${ids[0]}`).check();
  await page.getByLabel(`Select ${ids[2]}`).check();
  await page.getByLabel(`Select ${waiting}`).check();
  await expect(page.getByText('3 selected')).toBeVisible();
  await page.locator('[data-action=retry]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Retry 2 tasks?');
  await expect(dialog).toContainText('1 selected task is skipped');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect((await states(server, 'queue=emails&state=failed')).length).toBe(3);
  await page.locator('[data-action=retry]').click();
  await dialog.getByRole('button', { name: 'Retry' }).click();
  await expect(page.getByText('2 tasks retried')).toBeVisible();
  await expect(row(page, ids[0] ?? '').locator('[data-state=queued]')).toBeVisible();
  await expect(row(page, ids[1] ?? '').locator('[data-state=failed]')).toBeVisible();
  expect((await states(server, 'queue=emails&state=queued')).length).toBe(2);
});

test('a range is selected with shift, and cancelled', async ({ page, server }) => {
  await server.put_many('emails', 10);
  await page.goto(`${server.url}/tasks`);
  await rows(page).nth(1).getByRole('checkbox').click();
  await rows(page).nth(4).getByRole('checkbox').click({ modifiers: ['Shift'] });
  await expect(page.getByText('4 selected')).toBeVisible();
  await page.locator('[data-action=cancel]').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Do not cancel' }).click();
  await page.locator('[data-action=cancel]').click();
  await dialog.getByLabel('Reason (optional)').fill('sent twice');
  await dialog.getByRole('button', { name: 'Cancel tasks' }).click();
  await expect(page.getByText('4 tasks cancelled')).toBeVisible();
  const { tasks } = await server.must('GET', '/v1/tasks?queue=emails&state=cancelled');
  expect(tasks).toHaveLength(4);
  for (const task of tasks) expect(task.error.message).toContain('sent twice');
});

test('some are moved and get another priority', async ({ page, server }) => {
  await server.put_many('emails', 3, { priority: 3 });
  await server.must('POST', '/v1/queues', { name: 'slow' });
  await page.goto(`${server.url}/tasks?queue=emails`);
  const dialog = page.getByRole('dialog');
  await page.getByLabel('Select all on this page').check();
  await page.locator('[data-action=priority]').click();
  await expect(dialog).toContainText('Change the priority of 3 tasks');
  await dialog.getByLabel('Priority').selectOption('8');
  await dialog.getByRole('button', { name: 'Change priority' }).click();
  await expect(page.getByText('Priority of 3 tasks changed')).toBeVisible();
  await expect(rows(page).first().locator('.prio')).toHaveText('8');
  await rows(page).nth(0).getByRole('checkbox').check();
  await rows(page).nth(1).getByRole('checkbox').check();
  await page.locator('[data-action=move]').click();
  await expect(dialog.getByRole('button', { name: 'Move' })).toBeDisabled();
  await dialog.getByLabel('To queue').fill('slow');
  await dialog.getByRole('button', { name: 'Move' }).click();
  await expect(page.getByText('2 tasks moved')).toBeVisible();
  await expect(rows(page)).toHaveCount(1);
  const { tasks } = await server.must('GET', '/v1/tasks?queue=slow');
  expect(tasks.map((task: { priority: number }) => task.priority)).toEqual([8, 8]);
});

test('all that match are moved, and counted for the queue that is chosen', async ({ page, server }) => {
  await server.put_many('emails', 60, { type: 'news' });
  await server.put_many('slow', 5, { type: 'news' });
  await page.goto(`${server.url}/tasks?type=news`);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.locator('[data-action=move]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('[data-count]')).toHaveCount(0);
  await dialog.getByLabel('To queue').fill('slow');
  await expect(dialog.locator('[data-count="60"]')).toHaveText('60'); // not those that are there
  await dialog.getByRole('button', { name: 'Move all' }).click();
  await expect(page.locator('[data-done="60"]')).toBeVisible();
  expect((await server.must('GET', '/v1/queues/slow/stats')).total).toBe(65);
});

test('all that match are retried, with the progress of the operation', async ({ page, server }) => {
  await server.put_many('emails', 130, { payload: { to: 'ann' } });
  for (let done = 0; done < 120; ) {
    const tasks = await server.take('emails', 40);
    const settle = tasks.map((task) => ({ id: task.id, token: task.token, outcome: 'failed', retryable: false, error: { code: 'smtp', message: 'm' } }));
    await server.must('POST', '/v1/work', { worker: 'w', settle });
    done += tasks.length;
  }
  await page.goto(`${server.url}/tasks?queue=emails&state=failed`);
  await expect(page.locator('[data-total="120"]')).toBeVisible();
  await page.getByLabel('Select all on this page').check();
  await expect(page.getByText('50 selected')).toBeVisible();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await expect(page.getByText('All that match are selected')).toBeVisible();
  await expect(page.locator('[data-action=cancel]')).toBeDisabled();
  await page.locator('[data-action=retry]').click();
  await expect(page.getByRole('dialog').locator('[data-count="120"]')).toHaveText('120');
  await page.getByRole('dialog').getByRole('button', { name: 'Retry all' }).click();
  await expect(page.locator('[data-bulk=completed]')).toBeVisible();
  await expect(page.locator('[data-done="120"]')).toHaveText('120 done');
  await expect(page).toHaveURL(/bulk=/);
  await expect(page.getByRole('heading', { name: 'No task matches' })).toBeVisible();
  // The numbers above the list follow with it, not at their own pace.
  await expect(page.locator('[data-total="0"]')).toBeVisible({ timeout: 2000 });
  await expect(page.locator('[data-chip=failed]')).toContainText('0', { timeout: 500 });
  const { states: counts } = await server.must('GET', '/v1/queues/emails/stats');
  expect(counts.queued).toBe(130);
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(page.locator('[data-bulk]')).toHaveCount(0);
});

test('all that match a text are removed only after the word is typed', async ({ page, server }) => {
  await server.put_many('emails', 60, { payload: { to: 'ann' } });
  await server.put_many('emails', 3, { payload: { to: 'bob' } });
  await page.goto(`${server.url}/tasks?queue=emails&text=ann`);
  await expect(rows(page)).toHaveCount(50);
  await page.getByLabel('Select all on this page').check();
  await page.getByRole('button', { name: 'Select all that match' }).click();
  await page.locator('[data-action=remove]').click();
  const dialog = page.getByRole('dialog');
  await expect(dialog.locator('[data-count="60"]')).toHaveText('60');
  await expect(dialog.getByRole('button', { name: 'Remove all' })).toBeDisabled();
  await dialog.getByRole('textbox').fill('remove');
  await dialog.getByRole('button', { name: 'Remove all' }).click();
  await expect(page.locator('[data-bulk=completed]')).toBeVisible();
  const { total } = await server.must('GET', '/v1/queues/emails/stats');
  expect(total).toBe(3);
});

test.describe('the count of all that match', () => {
  const begins = (one: Request) => one.method() === 'POST' && one.url().endsWith('/v1/bulk');
  const cancels = (one: Request) => /\/v1\/bulk\/[^/]+\/cancel$/.test(one.url());

  // The answer to the first request is held back.
  async function ask_slowly(page: Page, server: Server): Promise<() => void> {
    await server.put_many('emails', 60, { payload: { to: 'ann' } });
    await page.goto(`${server.url}/tasks?queue=emails`);
    await page.getByLabel('Select all on this page').check();
    await page.getByRole('button', { name: 'Select all that match' }).click();
    let go_on = () => {};
    const held = new Promise<void>((done) => (go_on = done));
    await page.route('**/v1/bulk', (route) => (begins(route.request()) ? held : Promise.resolve()).then(() => route.continue()));
    const begun = page.waitForRequest(begins);
    await page.locator('[data-action=cancel]').click();
    await begun;
    return go_on;
  }

  test('is given up with the question', async ({ page, server, complaints }) => {
    const go_on = await ask_slowly(page, server);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    const cancelled = page.waitForRequest(cancels);
    go_on();
    await cancelled;
    forgive(complaints, /status of 409/);
  });

  test('ends with the filter that it is of', async ({ page, server, complaints }) => {
    (await ask_slowly(page, server))();
    await expect(page.getByRole('dialog').locator('[data-count="60"]')).toBeVisible();
    await page.evaluate(() => {
      history.replaceState(null, '', '/tasks?queue=emails&type=welcome');
      dispatchEvent(new PopStateEvent('popstate'));
    });
    await expect(page.getByRole('dialog')).toHaveCount(0);
    forgive(complaints, /status of 409/);
  });

  test('is given up before the action begins', async ({ page, server, complaints }) => {
    const go_on = await ask_slowly(page, server);
    const asked: string[] = [];
    page.on('request', (one) => {
      if (cancels(one)) asked.push('cancel');
      if (begins(one)) asked.push('begin');
    });
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel all' }).click();
    go_on();
    await expect(page.locator('[data-bulk=completed]')).toBeVisible();
    expect(asked).toEqual(['cancel', 'begin']);
    forgive(complaints, /status of 409/);
  });
});
