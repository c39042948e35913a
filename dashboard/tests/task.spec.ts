// The page of one task.
import { createServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import type { Page } from '@playwright/test';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const open = (page: Page, server: Server, id: string) => page.goto(`${server.url}/tasks/${id}`);
const card = (page: Page, title: string) => page.locator('section').filter({ has: page.getByRole('heading', { name: title, exact: true }) });
const state = (page: Page) => page.getByRole('main').locator('header [data-state]');

// Puts with a body that JavaScript could not write: all digits of a number.
async function put_raw(server: Server, body: string): Promise<string> {
  const response = await fetch(`${server.url}/v1/tasks`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
  return ((await response.json()) as { id: string }).id;
}

async function take_one(server: Server, queue: string): Promise<{ id: string; token: string }> {
  const [task] = await server.take(queue);
  if (!task) throw new Error('nothing was taken');
  return task;
}

test('what happened: attempts with their ends, workers and durations', async ({ page, server }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', retry: { max_retries: 1, base_ms: 1, jitter: 'none' } });
  const id = await server.put('emails', { type: 'welcome' });
  await server.settle(await take_one(server, 'emails'), { outcome: 'failed', error: { code: 'smtp', message: 'no route' } });
  await open(page, server, id);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('welcome');
  const happened = card(page, 'What happened');
  await expect(happened.locator('[data-span=waiting]').first()).toBeVisible();
  await expect(happened.locator('[data-span=running]')).toContainText('Attempt 1');
  await expect(happened.locator('[data-span=running]')).toContainText('failed, to be retried');
  await expect(happened.locator('[data-span=running]')).toContainText('by tester');
  await expect(happened.locator('[data-span=running]')).toContainText('smtp: no route');
  // The second attempt begins and ends before one's eyes.
  const task = await take_one(server, 'emails');
  await expect(state(page)).toHaveAttribute('data-state', 'processing');
  await expect(happened.locator('[data-span=running]').nth(1)).toContainText('so far');
  await server.settle(task, { outcome: 'done', result: { sent: true } });
  await expect(state(page)).toHaveAttribute('data-state', 'completed');
  await expect(happened.locator('[data-span=running]').nth(1)).toContainText('completed');
  await expect(happened.getByRole('img')).toHaveAttribute('aria-label', /Running/);
  await expect(card(page, 'Result')).toContainText('"sent": true');
});

test('payloads are shown, copied and saved to the digit', async ({ page, server, context }) => {
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
  const payload = '{"big":12345678901234567890,"small":1.50,"list":[1,{"deep":[]}],"text":"a\\nb"}';
  const id = await put_raw(server, `{"queue":"emails","payload":${payload}}`);
  await open(page, server, id);
  const shown = card(page, 'Payload');
  await expect(shown).toContainText('12345678901234567890');
  await expect(shown).toContainText('1.50');
  await shown.getByRole('button', { name: 'Copy: Payload' }).click();
  const copied = await page.evaluate(() => navigator.clipboard.readText());
  expect(copied).toContain('"big": 12345678901234567890,\n  "small": 1.50');
  const saving = page.waitForEvent('download');
  await shown.getByRole('button', { name: 'Download: Payload' }).click();
  const saved = await saving;
  expect(saved.suggestedFilename()).toBe(`task-${id}-payload.json`);
  expect(readFileSync(await saved.path(), 'utf8')).toBe(payload);
  await shown.getByRole('button', { name: 'Fold, line 4' }).click();
  await expect(shown).not.toContainText('deep');
});

test('texts and bytes are shown as what they are', async ({ page, server }) => {
  await open(page, server, await server.put('emails', { payload_text: 'two\nlines' }));
  await expect(card(page, 'Payload').locator('pre')).toHaveText('two\nlines');
  await open(page, server, await server.put('emails', { payload_base64: 'AP8B' }));
  await expect(card(page, 'Payload')).toContainText('3 B of binary data');
  await expect(card(page, 'Payload')).toContainText('00 ff 01');
});

test('progress and log lines come while it runs', async ({ page, server }) => {
  const id = await server.put('emails');
  const task = await take_one(server, 'emails');
  await open(page, server, id);
  await expect(page.getByText('No lines yet.')).toBeVisible();
  await server.must('POST', `/v1/tasks/${id}/log`, { token: task.token, lines: ['connected', 'sent'] });
  await expect(page.getByRole('log')).toContainText('connected');
  await server.must('POST', `/v1/tasks/${id}/log`, { token: task.token, lines: ['said goodbye'] });
  await expect(page.getByRole('log')).toContainText('said goodbye');
  await server.must('POST', `/v1/tasks/${id}/log`, { token: task.token, lines: ['and went'] });
  await expect(page.getByRole('log')).toContainText('and went');
  for (const line of ['connected', 'said goodbye']) await expect(page.getByRole('log').getByText(line)).toHaveCount(1);
  await server.must('POST', `/v1/tasks/${id}/progress`, { token: task.token, progress: 40 });
  await expect(page.getByRole('progressbar', { name: 'Progress' })).toHaveAttribute('aria-valuenow', '40');
});

test('why it is not running, in a sentence', async ({ page, server }) => {
  const id = await server.put('emails');
  await open(page, server, id);
  const why = page.getByRole('region', { name: 'Why is it not running?' });
  await expect(why).toContainText('No worker asks for tasks of the queue emails.');
  await server.must('POST', '/v1/queues/emails/pause', { for_ms: 3_600_000 });
  await expect(why).toContainText(/The queue emails is paused until .*: for another \d+\sm/);
  await server.must('POST', '/v1/queues/emails/pause', {});
  await expect(why).toContainText('The queue emails is paused until it is resumed.');
  await expect(why.getByRole('link', { name: 'To the queue emails' })).toHaveAttribute('href', '/queues/emails');
  await server.must('PATCH', '/v1/queues/emails', { active: false });
  await expect(why).toContainText('switched off');
  await open(page, server, await server.put('images', { delay_ms: 3_600_000 }));
  await expect(why).toContainText(/It is not due until .*: in (1\sh|59\sm)/);
  await open(page, server, await server.put('images', { held: true }));
  await expect(why).toContainText('waits to be released');
  const [, running] = [await server.put('sounds'), await take_one(server, 'sounds')];
  await open(page, server, running.id);
  await expect(state(page)).toHaveAttribute('data-state', 'processing');
  await expect(why).toHaveCount(0);
});

test('others before it, and a limit that is reached', async ({ page, server }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', max_concurrent: 1 });
  await server.put_many('emails', 5, { priority: 9 });
  await server.take('emails');
  const id = await server.put('emails', { priority: 1 });
  await open(page, server, id);
  const why = page.locator('[data-gate]');
  await expect(why).toHaveAttribute('data-gate', 'concurrency');
  await expect(why).toContainText('The queue emails has reached its limit of running tasks. About 4 tasks are ahead of it.');
  await server.must('PATCH', '/v1/queues/emails', { max_concurrent: null });
  await expect(why).toHaveAttribute('data-gate', 'behind');
});

test('the payload is edited and put again, to the digit', async ({ page, server }) => {
  const body = '{"queue":"emails","type":"welcome","tags":["vip"],"priority":7,"metadata":{"n":1.10},"unique":{"key":"k"},"payload":{"to":"ann","n":12345678901234567890}}';
  const id = await put_raw(server, body);
  await open(page, server, id);
  await page.getByRole('button', { name: 'Put again…' }).click();
  const dialog = page.getByRole('dialog');
  const payload = dialog.getByLabel('Payload (JSON)');
  await expect(payload).toHaveValue(/"n": 12345678901234567890/);
  await payload.fill('{"to":');
  await expect(dialog.getByRole('alert')).toContainText('This is not JSON');
  await expect(dialog.getByRole('button', { name: 'Put', exact: true })).toBeDisabled();
  await payload.fill('{"to":"bob","n":12345678901234567890}');
  await dialog.getByRole('button', { name: 'Put', exact: true }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(card(page, 'Payload')).toContainText('"bob"');
  const made = page.url().split('/').pop() ?? '';
  const text = await (await fetch(`${server.url}/v1/tasks/${made}`)).text();
  expect(text).toContain('"payload":{"to":"bob","n":12345678901234567890}');
  expect(text).toContain('"metadata":{"n":1.10}');
  expect(JSON.parse(text)).toMatchObject({ type: 'welcome', tags: ['vip'], priority: 7, state: 'queued' });
  expect(JSON.parse(text).unique).toBeUndefined();
});

test('what the server refuses of a task that is put again is said', async ({ page, server, complaints }) => {
  await open(page, server, await server.put('emails'));
  await page.getByRole('button', { name: 'Put again…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Queue').fill('$secret');
  await dialog.getByRole('button', { name: 'Put', exact: true }).click();
  await expect(dialog.getByRole('alert')).toContainText('$secret');
  forgive(complaints, /status of 422/);
});

test('actions, with a question before what cannot be undone', async ({ page, server }) => {
  const id = await server.put('emails', { delay_ms: 3_600_000 });
  await open(page, server, id);
  await page.getByRole('button', { name: 'Run now' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await page.getByRole('main').getByLabel('Priority').selectOption('9');
  await expect(page.getByText('The priority is changed')).toBeVisible();
  expect((await server.must('GET', `/v1/tasks/${id}`)).priority).toBe(9);
  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Do not cancel' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByLabel('Reason (optional)').fill('sent twice');
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'cancelled');
  await expect(card(page, 'Error')).toContainText('sent twice');
  await page.getByRole('button', { name: 'Retry' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await page.getByRole('button', { name: 'Remove' }).click();
  await expect(page.getByRole('dialog').getByRole('button', { name: 'Cancel', exact: true })).toBeFocused();
  await page.keyboard.press('Escape');
  expect((await server.ask('GET', `/v1/tasks/${id}`)).status).toBe(200);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(page).toHaveURL(`${server.url}/tasks`);
  expect((await server.ask('GET', `/v1/tasks/${id}`)).status).toBe(404);
});

test('a held task is released; one that runs is asked to stop', async ({ page, server }) => {
  const id = await server.put('emails', { held: true });
  await open(page, server, id);
  await page.getByRole('button', { name: 'Release' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await take_one(server, 'emails');
  await expect(state(page)).toHaveAttribute('data-state', 'processing');
  await expect(page.getByRole('button', { name: 'Remove' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Cancel task' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel task' }).click();
  await expect(page.getByRole('main').getByText('cancel requested')).toBeVisible();
});

test('ancestors and follow-ups are a tree whose tasks lead to each other', async ({ page, server }) => {
  const id = await server.put('emails', { type: 'welcome' });
  const then = async (queue: string, ...types: string[]) =>
    server.settle(await take_one(server, queue), { outcome: 'done', follow_ups: types.map((type) => ({ queue: 'reports', type })) });
  await then('emails', 'export', 'notify');
  await then('reports', 'upload');
  await open(page, server, id);
  const relatives = page.locator('[data-relative]');
  await expect(relatives).toHaveCount(3);
  await expect(relatives.nth(0)).toContainText('this task');
  await expect(relatives.nth(1)).toContainText('completed');
  await expect(relatives.nth(2)).toContainText('queued');
  await page.getByRole('button', { name: 'Follow-ups of export' }).click();
  await page.getByRole('link', { name: 'upload' }).click();
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('upload');
  await expect(relatives).toContainText(['welcome', 'export', 'upload']);
  await expect(relatives.nth(2)).toContainText('this task');
  await page.locator('[data-relative]').getByRole('link', { name: 'welcome' }).click();
  await expect(page).toHaveURL(`${server.url}/tasks/${id}`);
});

test('attempts and failures agree with what happened, also after a retry by hand', async ({ page, server }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', retry: { max_retries: 1, base_ms: 1, jitter: 'none' } });
  const id = await server.put('emails');
  const error = { code: 'smtp', message: 'no route' };
  for (let i = 0; i < 2; ++i) {
    await expect.poll(async () => (await server.must('GET', `/v1/tasks/${id}`)).state).not.toBe('retrying');
    await server.settle(await take_one(server, 'emails'), { outcome: 'failed', error });
  }
  const fact = (name: string) => card(page, 'About this task').locator('dt', { hasText: name }).locator('xpath=following-sibling::dd[1]');
  await open(page, server, id);
  await expect(state(page)).toHaveAttribute('data-state', 'dead');
  await expect(fact('Attempts')).toHaveText('2');
  await expect(fact('Failures')).toHaveText('2');
  await page.getByRole('button', { name: 'Retry' }).click();
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await server.settle(await take_one(server, 'emails'), { outcome: 'done' });
  await expect(state(page)).toHaveAttribute('data-state', 'completed');
  const happened = card(page, 'What happened');
  await expect(happened.locator('[data-span=running]')).toHaveCount(3);
  await expect(happened).not.toContainText('so far');
  await expect(happened.locator('[data-span=ended]')).toHaveText(/^\s*Finished\s+then retried manually/);
  await expect(fact('Attempts')).toHaveText('3');
  await expect(fact('Failures')).toHaveText('2');
});

test.describe('webhooks', () => {
  test.use({ flags: ['--webhooks-allow-private', 'true'] });

  let hook: HttpServer;
  let status = 400;
  const heard: string[] = [];
  test.beforeEach(async () => {
    heard.length = 0;
    status = 400;
    hook = createServer((request, response) => {
      heard.push(request.url ?? '');
      response.writeHead(status).end();
    });
    await new Promise<void>((done) => hook.listen(0, '127.0.0.1', done));
  });
  test.afterEach(() => void hook.close());

  test('deliveries are shown, and made again', async ({ page, server }) => {
    const url = `http://127.0.0.1:${(hook.address() as AddressInfo).port}/hook`;
    const id = await server.put('emails', { callback: { url, max_attempts: 1 } });
    await open(page, server, id);
    const webhook = card(page, 'Webhook deliveries');
    await expect(webhook).toContainText(url);
    await expect(webhook).toContainText('Nothing was delivered yet.');
    await expect(webhook.getByRole('button', { name: 'Deliver again' })).toHaveCount(0);
    await server.settle(await take_one(server, 'emails'), { outcome: 'done' });
    await expect(webhook.locator('[data-delivery]')).toHaveCount(1);
    await expect(webhook.locator('[data-delivery=failed], [data-delivery=dead]')).toContainText('400');
    status = 204;
    await webhook.getByRole('button', { name: 'Deliver again' }).click();
    await expect(webhook.locator('[data-delivery=completed]')).toContainText('204');
    await expect(webhook.locator('[data-delivery]')).toHaveCount(2);
    expect(heard).toEqual(['/hook', '/hook']);
  });
});

test('a task that is gone, or goes', async ({ page, server, complaints }) => {
  await open(page, server, '01890a5d-ac96-774b-bcce-b302099a8057');
  await expect(page.getByRole('heading', { name: 'This task does not exist' })).toBeVisible();
  const id = await server.put('emails');
  await open(page, server, id);
  await expect(state(page)).toHaveAttribute('data-state', 'queued');
  await server.must('DELETE', `/v1/tasks/${id}`);
  await expect(page.getByRole('heading', { name: 'This task does not exist' })).toBeVisible();
  await open(page, server, 'no-id');
  await expect(page.getByRole('alert')).toBeVisible();
  forgive(complaints, /status of 40[04]/);
});

test('a task is found by its number, too', async ({ page, server }) => {
  await server.put('emails', { type: 'welcome' });
  await page.goto(`${server.url}/tasks/1`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('welcome');
});

for (const theme of themes) {
  test(`accessible in ${theme}, on a wide and on a narrow screen`, async ({ page, server }) => {
    const id = await server.fail('emails', { code: 'smtp', message: 'no route', details: '{"port":25}', stack: 'at send' }, { payload: { a: [1, null, 'x'] }, tags: ['a'] });
    const waiting = await server.put('emails');
    await use_theme(page, theme);
    for (const one of [id, waiting]) {
      await page.setViewportSize({ width: 1280, height: 800 });
      await open(page, server, one);
      await expect(card(page, 'Payload')).toBeVisible();
      await expect_accessible(page);
      await page.setViewportSize({ width: 360, height: 800 });
      await expect_accessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
    }
    await page.getByRole('button', { name: 'Put again…' }).click();
    await expect_accessible(page);
  });
}

test('says in Russian why it waits', async ({ page, server }) => {
  await use_language(page, 'ru');
  await open(page, server, await server.put('emails'));
  await expect(page.getByRole('region', { name: 'Почему она не выполняется?' })).toContainText('Ни один воркер не спрашивает задачи очереди emails.');
});
