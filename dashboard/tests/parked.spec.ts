// A task that is parked and gets its answer on its page.
import type { Page } from '@playwright/test';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const card = (page: Page, title: string) => page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
const state = (page: Page) => page.getByRole('main').locator('header [data-state]');
const answer = (page: Page) => page.getByRole('textbox', { name: 'Answer' });
const with_answer = (page: Page) => page.getByRole('button', { name: 'Release with answer' });

// Its id.
async function park(server: Server, more: Record<string, unknown> = {}): Promise<string> {
  const id = await server.put('refunds', { type: 'refund', payload: { order: 17 } });
  const [task] = await server.take('refunds');
  if (!task) throw new Error('nothing was taken');
  await server.settle(task, { outcome: 'park', ...more });
  return id;
}

// What the next worker is given.
async function next_lease(server: Server): Promise<Record<string, unknown>> {
  const { tasks } = await server.must('POST', '/v1/take', { worker: 'tester', queue: 'refunds', most: 1 });
  return tasks[0];
}

test('a parked task shows what it waits for, and gets an answer', async ({ page, server }) => {
  const id = await park(server, { delay_ms: 72 * 3_600_000, checkpoint: { asked: 'ann', mails: [1.5] } });
  await page.goto(`${server.url}/tasks/${id}`);
  await expect(state(page)).toHaveText('parked');
  await expect(page.locator('[data-gate=parked]')).toHaveText(/^It is parked and waits for an answer, until .+ at the latest: for another (3\sd|2\sd\s23\sh)/);
  await expect(card(page, 'About this task')).toContainText(/Parked until\s*in [23] days/);
  await expect(card(page, 'Checkpoint')).toContainText('"asked": "ann"');
  await expect(card(page, 'Checkpoint')).toContainText('1.5');
  await expect(card(page, 'Answer')).toHaveCount(0);
  const spans = card(page, 'What happened').locator('[data-span]');
  await expect(spans.last()).toHaveAttribute('data-span', 'parked');
  await expect(spans.last()).toContainText('so far');
  await expect(card(page, 'What happened').locator('[data-span=running]')).toContainText('parked');
  await expect(page.getByRole('button', { name: 'Release', exact: true })).toHaveCount(0);

  await answer(page).fill('{"approved":true,"amount":12345678901234567890}');
  await expect(page.getByText('This is sent as JSON.')).toBeVisible();
  await with_answer(page).click();
  await expect(page.getByText('The task is released')).toBeVisible();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await expect(card(page, 'Answer')).toContainText('12345678901234567890');
  await expect(answer(page)).toHaveCount(0);
  await expect(page.getByText('Parked until')).toHaveCount(0);
  const lease = await next_lease(server);
  expect(lease).toMatchObject({ id, answer: { approved: true }, checkpoint: { asked: 'ann', mails: [1.5] } });
  await expect(state(page)).toHaveAttribute('data-state', 'processing');
  await expect(spans.last()).toContainText('Attempt 2');
  await expect(card(page, 'What happened').locator('[data-span=parked]')).not.toContainText('so far');

  await server.settle(lease as { id: string; token: string }, { outcome: 'done' });
  await expect(state(page)).toHaveAttribute('data-state', 'completed');
  for (const title of ['Checkpoint', 'Answer']) await expect(card(page, title)).toHaveCount(0);
});

test('the form says what is sent while one types', async ({ page, server }) => {
  const id = await park(server);
  await page.goto(`${server.url}/tasks/${id}`);
  await expect(page.locator('[data-gate=parked]')).toHaveText('It is parked and waits for an answer.');
  await expect(card(page, 'About this task')).not.toContainText('Parked until');
  const told = card(page, 'Give an answer').getByRole('status');
  await expect(told).toContainText('or any text');
  await expect(with_answer(page)).toBeDisabled();
  await answer(page).fill('{"approved":tru');
  await expect(told).toHaveText(/^This is not JSON and is sent as text: .+/);
  await answer(page).fill('null');
  await expect(page.getByRole('alert')).toHaveText(/^null is no answer/);
  await expect(answer(page)).toHaveAttribute('aria-invalid', 'true');
  await expect(with_answer(page)).toBeDisabled();
  await answer(page).fill('x'.repeat(64 * 1024 + 1));
  await expect(page.getByRole('alert')).toHaveText('The answer is too long: 64 KiB at most.');
  // By keyboard, as text.
  await answer(page).fill('');
  await answer(page).pressSequentially('yes, "do" it');
  await expect(told).toHaveText('This is not JSON and is sent as text.');
  await page.keyboard.press('Tab');
  await expect(with_answer(page)).toBeFocused();
  await page.keyboard.press('Enter');
  await expect(card(page, 'Answer').locator('pre')).toHaveText('yes, "do" it');
  expect(await next_lease(server)).toMatchObject({ id, answer_text: 'yes, "do" it' });
});

test('it is released without an answer, which is asked if one was typed', async ({ page, server }) => {
  const id = await park(server);
  await page.goto(`${server.url}/tasks/${id}`);
  await answer(page).fill('{"approved":false}');
  await page.getByRole('button', { name: 'Release without an answer' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  await expect(answer(page)).toHaveValue('{"approved":false}');
  await answer(page).fill('');
  await page.getByRole('button', { name: 'Release without an answer' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  const lease = await next_lease(server);
  expect(lease).toMatchObject({ id });
  expect(Object.keys(lease).filter((name) => name.startsWith('answer'))).toEqual([]);
});

test('an answer to a wait that is over is not given to the next one', async ({ page, server, complaints }) => {
  const id = await park(server);
  const first = await server.must('GET', `/v1/tasks/${id}`);
  // The page still shows the first wait.
  await page.route(`**/v1/tasks/${id}`, (route) => (route.request().method() === 'GET' ? route.fulfill({ json: first }) : route.continue()));
  await page.goto(`${server.url}/tasks/${id}`);
  await answer(page).fill('{"approved":true}');
  await server.must('POST', `/v1/tasks/${id}/release`, {});
  await server.settle((await next_lease(server)) as { id: string; token: string }, { outcome: 'park' });
  await with_answer(page).click();
  await expect(page.getByText(/has the version \d+, not \d+/)).toBeVisible();
  expect(await server.must('GET', `/v1/tasks/${id}`)).toMatchObject({ state: 'created' });
  forgive(complaints, /status of 409/);
});

test('one that is cancelled has waited until then', async ({ page, server }) => {
  const id = await park(server, { checkpoint: 1 });
  await page.goto(`${server.url}/tasks/${id}`);
  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'cancelled');
  const parked = card(page, 'What happened').locator('[data-span=parked]');
  await expect(parked).toHaveCount(1);
  await expect(parked.locator('.long')).toHaveText(/^[\d.]+\s(ms|s)$/);
  await expect(answer(page)).toHaveCount(0);
});

test('lists and the tail of events tell parked tasks from held ones', async ({ page, server }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  const parked = await park(server);
  const later = await park(server, { delay_ms: 3_600_000 });
  const held = await server.put('refunds', { held: true });
  await expect(page.locator('[data-event=parked]')).toHaveCount(2);
  await page.goto(`${server.url}/tasks?queue=refunds&state=created`);
  const row = (id: string) => page.locator(`tr[data-task="${id}"]`);
  await expect(row(held).locator('[data-state]')).toHaveText('held');
  for (const id of [parked, later]) await expect(row(id).locator('[data-state]')).toHaveText('parked');
  await expect(row(later)).toContainText(/for (1\sh|59\sm.*) at most/);
  await expect(page.locator('[data-chip=created]')).toContainText('held or waiting');
});

test('parked tasks are found with one chip, and answered with one click', async ({ page, server }) => {
  const other = await server.put('refunds');
  const waits = await server.put('refunds', { after: [other] });
  const held = await server.put('refunds', { held: true });
  await server.must('POST', `/v1/tasks/${other}/cancel`);
  const parked = await park(server);
  const row = (id: string) => page.locator(`tr[data-task="${id}"]`);
  const rows = page.locator('tbody tr[data-task]');
  await page.goto(`${server.url}/tasks?queue=refunds&state=created`);
  await expect(row(waits).locator('[data-state]').or(row(held).locator('[data-state]')).first()).toBeVisible();
  await expect(row(held).getByRole('link', { name: /^Answer/ })).toHaveCount(0);
  await page.locator('[data-chip=parked]').click();
  await expect(page).toHaveURL(`${server.url}/tasks?queue=refunds&parked=true`);
  await expect(page.locator('[data-chip=parked]')).toHaveAttribute('aria-pressed', 'true');
  await expect(rows).toHaveCount(1);
  // A server cannot act on all that are parked, so it is not offered.
  await rows.getByRole('checkbox').check();
  await expect(page.getByText('Select all that match')).toHaveCount(0);
  await rows.getByRole('checkbox').uncheck();
  await page.getByRole('link', { name: `Answer ${parked}` }).click();
  await expect(answer(page)).toBeFocused();
  await page.keyboard.type('"yes"');
  await with_answer(page).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await page.goto(`${server.url}/tasks?queue=refunds&parked=true`);
  await expect(page.getByText('No task matches')).toBeVisible();
  // Another state is not beside it, but instead of it.
  await page.locator('[data-chip=queued]').click();
  await expect(page).toHaveURL(`${server.url}/tasks?queue=refunds&state=queued`);
  await expect(row(parked)).toBeVisible();
});

test('a task that waits for others is told from a held one', async ({ page, server }) => {
  const first = await server.put('refunds');
  const waits = await server.put('refunds', { after: [first] });
  const held = await server.put('refunds', { held: true });
  await page.goto(`${server.url}/tasks?queue=refunds&state=created`);
  const row = (id: string) => page.locator(`tr[data-task="${id}"]`);
  await expect(row(waits).locator('[data-state]')).toHaveText('waits for others');
  await expect(row(waits)).toContainText('after 1 task');
  await expect(row(held).locator('[data-state]')).toHaveText('held');
  await row(waits).getByRole('link').first().click();
  await expect(state(page)).toHaveText('waits for others');
  await expect(card(page, 'What happened').locator('[data-span=waits]')).toContainText('Waiting for other tasks');
});

test('a key that only reads sees no form', async ({ page, server }) => {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const reader = await server.make_key('wall', ['read']);
  const id = await park(server, { checkpoint: { asked: 'ann' } });
  await page.goto(`${server.url}/tasks/${id}`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(card(page, 'Checkpoint')).toContainText('ann');
  await expect(state(page)).toHaveText('parked');
  await expect(answer(page)).toHaveCount(0);
  await expect(page.getByRole('button', { name: /^Release/ })).toHaveCount(0);
});

for (const theme of themes) {
  test(`accessible in ${theme}, on a wide and on a narrow screen, in Russian`, async ({ page, server }) => {
    const id = await park(server, { delay_ms: 3_600_000, checkpoint: { asked: 'ann' } });
    await use_theme(page, theme);
    await use_language(page, 'ru');
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await page.goto(`${server.url}/tasks/${id}`);
      await expect(state(page)).toHaveText('ждёт ответа');
      await expect(page.locator('[data-gate=parked]')).toContainText('Она ждёт ответа');
      const field = page.getByRole('textbox', { name: 'Ответ' });
      for (const text of ['', 'null', '{"approved":true}', '{"a']) {
        await field.fill(text);
        await expect_accessible(page);
      }
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    }
    await page.getByRole('button', { name: 'Отпустить с ответом' }).click();
    await expect(page.getByText('Задача отпущена')).toBeVisible();
  });
}
