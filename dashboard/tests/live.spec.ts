// What is on the screen is what there is: without a reload, after a restart, for a long time, with many tasks.
// MILLRACE_LIVE_SECONDS=300 and MILLRACE_LIVE_TASKS=5000000 make the last two as hard as they were meant, for a
// machine that has nothing else to do.
import { spawnSync } from 'node:child_process';
import { openSync, writeSync, closeSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from '@playwright/test';
import { setTimeout as rest } from 'node:timers/promises';
import { absence, expect, forgive, test } from './fixtures.ts';
import { program } from './server.ts';

const seconds = Number(process.env.MILLRACE_LIVE_SECONDS ?? 20);
const tasks = Number(process.env.MILLRACE_LIVE_TASKS ?? 100_000);
const patience = process.env.MILLRACE_LIVE_TASKS ? 1 : 10;

test('where little happens, each event is shown the moment it comes', async ({ page, server }) => {
  await server.put('emails');
  await page.goto(server.url);
  const ready = page.locator('[data-queue=emails] [data-column=ready]');
  await expect(page.locator('[data-live=live]')).toBeVisible();
  await expect(ready).toHaveText('1');
  for (let count = 2; count < 5; ++count) {
    // Figures that have just come would come again in two seconds.
    await page.waitForResponse(/\/v1\/stats$/);
    await server.put('emails');
    await expect(ready).toHaveText(String(count), { timeout: 1300 });
  }
});

test('tasks move through the states before one’s eyes', async ({ page, server }) => {
  await page.goto(server.url);
  await server.put_many('emails', 3);
  const row = page.locator('[data-queue=emails]');
  await expect(row.locator('[data-column=ready]')).toHaveText('3');
  const taken = await server.take('emails', 2);
  await expect(row.locator('[data-column=running]')).toHaveText('2');
  await expect(page.locator('[data-total=running]')).toHaveText('2');
  await server.settle(taken[0]!, { outcome: 'failed', retryable: true, error: { message: 'busy' } });
  await expect(row.locator('[data-column=later]')).toHaveText('1');
  await server.settle(taken[1]!, { outcome: 'failed', retryable: false, error: { message: 'gone' } });
  await expect(row.locator('[data-column=dead]')).toHaveText('1');
  await expect(row.locator('[data-column=running]')).toHaveText('0');
  await server.must('POST', '/v1/queues/emails/clear');
  await expect(row.locator('[data-column=ready]')).toHaveText('0');
});

test('a restart of the server is told, and then forgotten', async ({ page, server, complaints }) => {
  await server.put('emails');
  await page.goto(server.url);
  const ready = page.locator('[data-queue=emails] [data-column=ready]');
  await expect(ready).toHaveText('1');
  await page.evaluate(() => Object.assign(window, { same_page: true }));
  await server.stop('SIGKILL');
  await expect(page.getByRole('alert')).toContainText('The server does not answer');
  await expect(page.getByRole('alert')).toContainText(/What you see is \d+\ss old/);
  await expect(page.locator('[data-live=waiting]')).toBeVisible();
  await expect(ready).toHaveText('1'); // what was there stays
  await server.start();
  await server.put('emails');
  await expect(ready).toHaveText('2', { timeout: 25_000 });
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(page.locator('[data-live=live]')).toBeVisible({ timeout: 25_000 });
  expect(await page.evaluate(() => 'same_page' in window)).toBe(true);
  forgive(complaints, absence);
});

test('events come as they happen, and after a restart again', async ({ page, server, complaints }) => {
  await page.goto(`${server.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeVisible();
  await server.put('emails', { type: 'welcome' });
  await expect(page.locator('[data-event=put]')).toHaveCount(1);
  await server.stop();
  await expect(page.locator('[data-live=waiting]')).toBeVisible();
  await server.start();
  await expect(page.locator('[data-live=live]')).toBeVisible({ timeout: 20_000 });
  await server.put('emails');
  await expect(page.locator('[data-event=put]')).toHaveCount(2);
  await page.getByRole('link', { name: 'Action log' }).click();
  await expect(page.locator('[data-live]')).toHaveCount(0);
  forgive(complaints, absence);
});

test('memory stays flat while tasks move', async ({ page, server }) => {
  test.setTimeout((seconds + 60) * 1000);
  const browser = await page.context().newCDPSession(page);
  const measured = async () => {
    await browser.send('HeapProfiler.collectGarbage');
    const { usedSize } = await browser.send('Runtime.getHeapUsage');
    const { nodes, jsEventListeners } = await browser.send('Memory.getDOMCounters');
    return { heap: usedSize / 1024, nodes, listeners: jsEventListeners };
  };
  let moving = true;
  const move = async () => {
    while (moving) {
      await server.put_many('emails', 200);
      await server.put_many('reports', 50);
      const taken = [...(await server.take('emails', 200)), ...(await server.take('reports', 50))];
      const reports = taken.map(({ id, token }, i) => ({ id, token, outcome: i % 20 === 0 ? 'failed' : 'done', ...(i % 20 === 0 && { retryable: false, error: { message: 'no' } }) }));
      await server.must('POST', '/v1/work', { worker: 'tester', settle: reports });
      await rest(20);
    }
  };
  const moved = move();
  await page.goto(server.url);
  await expect(page.locator('figure canvas')).toHaveCount(3);
  await rest(8000);
  const before = await measured();
  await rest(seconds * 1000);
  const after = await measured();
  moving = false;
  await moved;
  expect(Number((await page.locator('[data-queue=emails] [data-column=dead]').innerText()).replace(/\D/g, ''))).toBeGreaterThan(0);
  expect(after.heap - before.heap, `KiB of JavaScript: ${before.heap.toFixed()} and ${after.heap.toFixed()}`).toBeLessThan(1024);
  expect(after.nodes, `nodes, ${before.nodes} before`).toBeLessThan(before.nodes + 500);
  expect(after.listeners).toBeLessThan(before.listeners + 50);
});

// Milliseconds from a click, or the key Enter, until other tasks are shown than before.
async function until_others_are_shown(page: Page, act: () => Promise<void>): Promise<number> {
  const before = await page.locator('[data-task]').first().getAttribute('data-task');
  await page.evaluate(() => {
    const begin = () => Object.assign(window, { began: performance.now() });
    for (const kind of ['click', 'keydown']) addEventListener(kind, begin, { capture: true, once: true });
  });
  await act();
  const shown = await page.waitForFunction((old) => {
    const first = document.querySelector<HTMLElement>('[data-task]')?.dataset.task;
    return first && first !== old && performance.now() - (window as unknown as { began: number }).began;
  }, before);
  return Number(await shown.jsonValue());
}

test('with many tasks in the store pages are there at once', async ({ page, server }) => {
  test.setTimeout(60_000 + tasks / 10);
  await server.put_many('reports', 1000);
  await server.must('POST', `/v1/tasks/${await server.put('reports')}/cancel`);
  const file = join(server.folder, 'payloads');
  const lines = openSync(file, 'w');
  for (let left = tasks; left > 0; left -= 10_000) writeSync(lines, '{"to":"ann@example.org"}\n'.repeat(Math.min(left, 10_000)));
  closeSync(lines);
  const put = spawnSync('sh', ['-c', `exec "${program}" put emails --lines < "${file}"`], { env: { ...process.env, MILLRACE_URL: server.url }, encoding: 'utf8' });
  expect(put.status, put.stderr).toBe(0);
  await page.goto(server.url); // the browser begins, too
  await expect(page.locator('[data-queue=emails]')).toBeVisible();
  await page.goto('about:blank');
  await page.goto(server.url, { waitUntil: 'commit' });
  const shown = await page.waitForFunction(() => document.querySelector('[data-queue=emails]') && performance.now());
  expect(await shown.jsonValue()).toBeLessThan(1000 * patience);
  await expect(page.locator('[data-total=ready]')).toHaveAttribute('title', (tasks + 1000).toLocaleString('en'));
  await page.getByRole('link', { name: 'Tasks', exact: true }).click();
  const took: Record<string, number> = {};
  took.next = await until_others_are_shown(page, () => page.getByRole('button', { name: 'Older' }).click());
  took.state = await until_others_are_shown(page, () => page.getByRole('button', { name: 'cancelled' }).click());
  took.all = await until_others_are_shown(page, () => page.getByRole('button', { name: 'cancelled' }).click());
  await page.getByLabel('Queue').fill('reports');
  took.queue = await until_others_are_shown(page, () => page.keyboard.press('Enter'));
  console.log(`overview ${Number(await shown.jsonValue()).toFixed()} ms; ${Object.entries(took).map(([name, time]) => `${name} ${time.toFixed()} ms`).join(', ')}`);
  for (const [name, time] of Object.entries(took)) expect(time, name).toBeLessThan(200 * patience);
});
