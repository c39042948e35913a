// How the overview looks: its bars, small lines and charts, on screens from a phone to a wall.
import type { Page } from '@playwright/test';
import { set_scene } from '../scene/scene.ts';
import { expect, test, use_language } from './fixtures.ts';
import { Server } from './server.ts';

let busy: Server;
test.beforeAll(async () => {
  busy = await new Server().start();
  await set_scene(busy);
});
test.afterAll(async () => {
  await busy.remove();
});

async function open(page: Page, width: number, path = '/'): Promise<void> {
  await page.setViewportSize({ width, height: 900 });
  await page.goto(busy.url + path);
  await expect(page.locator('figure canvas')).toHaveCount(3);
}
const tops = (page: Page, what: string) => page.locator(what).evaluateAll((all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().top)))]);

test('colours of states are explained, and a bar says its numbers under the pointer', async ({ page }) => {
  await open(page, 1440);
  const card = page.locator('section', { has: page.locator('[data-queue=payments]') });
  for (const state of ['queued', 'running', 'completed', 'failed', 'dead']) await expect(card.locator('header li', { hasText: new RegExp(`^${state}$`) })).toBeVisible();
  const bar = page.locator('[data-queue=payments] .bar');
  await bar.hover();
  await expect(bar.locator('.numbers')).toBeVisible();
  await expect(bar.locator('.numbers')).toContainText(/completed \d+ \d+(\.\d)?%/);
  await page.mouse.move(0, 0);
  await expect(bar.locator('.numbers')).toHaveCount(0);
});

test('the arrow of the order stands apart from its word', async ({ page }) => {
  await open(page, 1440);
  const gap = await page.locator('[aria-sort] .arrow').evaluate((arrow) => {
    const word = document.createRange();
    word.selectNodeContents(arrow.parentElement!);
    word.setEndBefore(arrow);
    return arrow.getBoundingClientRect().left - word.getBoundingClientRect().right;
  });
  expect(gap).toBeGreaterThan(2);
});

test('a small line ends with the last minute that is over', async ({ page }) => {
  // As much in every minute of the hour; of the one that is on, next to nothing.
  await page.route('**/v1/history?by=queue', async (route) => {
    const response = await route.fetch();
    const now = Math.floor(Date.now() / 60_000);
    const points = Array.from({ length: 61 }, (_, i) => ({ at: new Date((now - 60 + i) * 60_000).toISOString(), put: 0, taken: 0, completed: 600, failed: 0, retried: 0, lost: 0, cancelled: 0 }));
    const series = [{ name: 'emails', completed: points.map((_, i) => (i < 60 ? 600 : 1)) }];
    await route.fulfill({ response, json: { ...(await response.json()), points, series } });
  });
  await open(page, 1440);
  const line = page.locator('[data-queue=emails] [data-column=rate] polyline');
  await expect(line).toBeAttached();
  const heights = ((await line.getAttribute('points')) ?? '').split(' ').map((point) => Number(point.split(',')[1]));
  expect(heights).toHaveLength(59);
  expect(new Set(heights).size).toBe(1);
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('headings and axes of charts stand at one height', async ({ page }) => {
  await use_language(page, 'ru'); // whose legends are longer
  await open(page, 1440);
  expect(await tops(page, 'figure h3')).toHaveLength(1);
  expect(await tops(page, 'figure canvas')).toHaveLength(1);
});

test('dragging across a chart zooms into all of them, until all is wanted again', async ({ page }) => {
  await open(page, 1440, '/?range=week');
  const over = page.locator('.u-over').nth(1);
  await over.scrollIntoViewIfNeeded();
  const { x, y, width, height } = (await over.boundingBox())!;
  const drag = async () => {
    await page.mouse.move(x + width * 0.4, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + width * 0.6, y + height / 2, { steps: 5 });
    await page.mouse.up();
  };
  // Where the pointer is at the left edge, by each chart.
  const first = async () => {
    await page.mouse.move(x + 1, y + height / 2);
    return page.locator('figure .moment').allInnerTexts();
  };
  const before = await first();
  await drag();
  const all = page.getByRole('button', { name: 'Show all' });
  await expect(all).toBeVisible();
  const zoomed = await first();
  expect(zoomed).not.toEqual(before);
  expect(new Set(zoomed).size).toBe(1);
  await all.click();
  await expect(all).toHaveCount(0);
  expect(await first()).toEqual(before);
  await drag();
  await over.dblclick();
  await expect(all).toHaveCount(0);
});

test('a week and a month are drawn by the hour', async ({ page }) => {
  await open(page, 1440);
  await page.getByRole('button', { name: '7 days' }).click();
  await expect(page).toHaveURL(`${busy.url}/?range=week`);
  await expect(page.getByRole('heading', { name: 'The last 7 days' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Tasks per hour: Put [\d.,]+K?, Completed/ })).toBeVisible();
  const week = await page.locator('[data-sum]').innerText();
  await page.getByRole('button', { name: '30 days' }).click();
  await expect(page).toHaveURL(`${busy.url}/?range=month`);
  await expect(page.locator('[data-sum]')).not.toHaveText(week);
});

test('a tablet has a table, a phone short cards, and a wall is used', async ({ page }) => {
  await page.goto(busy.url);
  for (const language of ['en', 'ru'] as const) {
    await page.evaluate((name) => localStorage.setItem('millrace.language', name), language);
    await open(page, 820);
    await expect(page.getByRole('columnheader', { name: language === 'en' ? 'Ready' : 'Готовы' })).toBeVisible();
    expect(await page.locator('[data-queue=emails]').evaluate((row) => row.getBoundingClientRect().height)).toBeLessThan(60);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(820);
    const card = page.locator('section > .content', { has: page.locator('[data-queue=emails]') });
    expect(await card.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0);
    await open(page, 390);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390);
    for (const row of await page.locator('[data-queue]').all()) expect((await row.boundingBox())?.height).toBeLessThan(125);
  }
  await open(page, 1920);
  expect((await page.locator('main').boundingBox())?.width).toBeGreaterThan(1600);
});

test('entries of the menu are one line each in Russian, and events are not cut', async ({ page }) => {
  await use_language(page, 'ru');
  await page.goto(`${busy.url}/events`);
  await expect(page.locator('[data-live=live]')).toBeAttached();
  const heights = await page.locator('nav a').evaluateAll((all) => [...new Set(all.map((one) => Math.round(one.getBoundingClientRect().height)))]);
  expect(heights).toHaveLength(1);
  await busy.must('PATCH', '/v1/queues/images', { retry: { max_retries: 0 } });
  await busy.put('images', { priority: 9 });
  const [task] = await busy.take('images');
  await busy.settle(task!, { outcome: 'failed', retryable: true, error: { message: 'no' } });
  const dead = page.locator('[data-event=dead] .what').first();
  await expect(dead).toHaveText('попытки исчерпаны');
  expect(await dead.evaluate((cell) => cell.scrollWidth - cell.clientWidth)).toBeLessThanOrEqual(0);
  for (const field of await page.locator('search input').all()) {
    const fits = await field.evaluate((input: HTMLInputElement) => {
      const canvas = document.createElement('canvas').getContext('2d')!;
      canvas.font = getComputedStyle(input).font;
      return canvas.measureText(input.placeholder).width <= input.clientWidth - 19;
    });
    expect(fits).toBe(true);
  }
});
