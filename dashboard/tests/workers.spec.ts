// The page of workers, against the real server.
import { expect, expect_accessible, test, themes, use_language, use_theme } from './fixtures.ts';

const row = (name: string) => `[data-worker="${name}"]`;
const report = (queue: string, more: Record<string, unknown> = {}) => ({
  processors: 8,
  queues: [{ queue, processors: 4, most: 8, busy: 3, handled: 200, errors: 2, retried: 1, busy_ms: 9000, last_error: '<i>no route</i>\u001b[31m', ...more }],
});

test('no worker yet: how to start one; the first is shown as it comes', async ({ server, page }) => {
  await page.goto(`${server.url}/workers`);
  await expect(page.getByText('millrace work emails -- ./send-email')).toBeVisible();
  await server.put('emails');
  await server.take('emails', 1, 'mailer-1');
  await expect(page.locator(row('mailer-1'))).toBeVisible();
});

test('what each is doing and for how long', async ({ server, page }) => {
  const id = await server.put('emails', { type: 'welcome' });
  const [task] = await server.take('emails', 1, 'mailer-1');
  await page.goto(`${server.url}/workers`);
  const doing = page.locator(row('mailer-1'));
  await expect(doing.getByRole('link', { name: 'welcome' })).toHaveAttribute('href', `/tasks/${id}`);
  await expect(doing.locator('time').first()).toHaveText(/^\d+\ss$/);
  const before = await doing.locator('time').first().textContent();
  await expect(doing.locator('time').first()).not.toHaveText(before ?? ''); // it counts
  await expect(page.locator('[data-figure="holding"]')).toHaveText('1');
  await doing.getByText('mailer-1').click(); // its name opens it
  await expect(page.getByText(/lease ends in \d+\ss/)).toBeVisible();
  await expect(page.getByText('sends no reports')).toBeVisible();
  if (task) await server.settle(task, { outcome: 'done' });
  await expect(doing).toContainText('waits for tasks');
  await expect(page.locator('[data-figure="holding"]')).toHaveText('0');
});

test('what is not reported is not counted as none', async ({ server, page }) => {
  await server.put_many('emails', 3);
  await server.take('emails', 2, 'script');
  await page.goto(`${server.url}/workers`);
  const figure = (name: string) => page.locator(`[data-figure="${name}"]`);
  await expect(figure('holding')).toHaveText('2');
  await expect(figure('processors')).toHaveText('not reported');
  await expect(page.getByText('1 worker does not report its processors')).toBeVisible();
  await expect(page.locator(row('script'))).toContainText('2 / ?');
  await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
  await expect(figure('processors')).toHaveText('3 / 8');
  await expect(page.getByText('1 worker does not report its processors')).toBeVisible();
});

test('what a worker reports of itself, as text', async ({ server, page }) => {
  await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
  await page.goto(`${server.url}/workers`);
  await expect(page.locator('[data-figure="processors"]')).toHaveText('3 / 8');
  await expect(page.locator(row('mailer-1'))).toContainText('2 failed');
  await page.getByRole('button', { name: 'Details of mailer-1' }).click();
  await expect(page.getByRole('cell', { name: '<i>no route</i>␛[31m' })).toBeVisible();
  await expect(page.getByRole('cell', { name: '45 ms' })).toBeVisible(); // 9 s for 200
});

test.describe('with a manager', () => {
  test.use({ flags: ['--manager-enabled', 'true'] });
  test('its assignments are shown', async ({ server, page }) => {
    await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
    await page.goto(`${server.url}/workers`);
    await expect(page.locator('[data-figure="manager"]')).toHaveText('on');
    await expect(page.locator('[data-figure="desired"]')).toHaveText(/^\d+$/);
    await page.getByRole('button', { name: 'Details of mailer-1' }).click();
    await expect(page.locator('[data-assigned="emails"]')).toHaveText(/^\d+$/, { timeout: 15_000 }); // of its next round
  });
});

test.describe('with a manager that finds too few processors', () => {
  test.use({ flags: ['--manager-enabled', 'true'] });
  test('that is a warning only if all are known', async ({ server, page }) => {
    await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
    await page.route('**/v1/workers', async (route) => {
      const response = await route.fetch();
      const body = await response.json();
      body.manager.desired = 33;
      await route.fulfill({ response, json: body });
    });
    await page.goto(`${server.url}/workers`);
    const tile = page.locator('div', { has: page.locator('> [data-figure="desired"]') });
    await expect(tile).toHaveClass(/warn/);
    await server.put('emails');
    await server.take('emails', 1, 'script');
    await expect(tile).toHaveClass(/plain/);
  });
});

test.describe('without a manager', () => {
  test.use({ flags: ['--manager-enabled', 'false'] });
  test('that is said', async ({ server, page }) => {
    await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
    await page.goto(`${server.url}/workers`);
    await expect(page.locator('[data-figure="manager"]')).toHaveText('off');
    await expect(page.locator('[data-figure="desired"]')).toHaveCount(0);
  });
});

test('filters live in the address', async ({ server, page }) => {
  await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
  await server.must('POST', '/v1/workers/painter/beat', report('thumbnails'));
  await page.goto(`${server.url}/workers?queue=emails`);
  await expect(page.locator(row('mailer-1'))).toBeVisible();
  await expect(page.locator(row('painter'))).toHaveCount(0);
  await page.getByRole('button', { name: 'Queue: emails' }).click();
  await expect(page.locator(row('painter'))).toBeVisible();
  await page.keyboard.press('/');
  await page.keyboard.type('thumb');
  await expect(page.locator(row('mailer-1'))).toHaveCount(0);
  await expect(page).toHaveURL(/text=thumb/);
});

test('one that has not been heard of is marked and comes last', async ({ server, page }) => {
  await server.must('POST', '/v1/workers/a-silent/beat', report('emails'));
  await server.must('POST', '/v1/workers/b-there/beat', report('emails'));
  await page.route('**/v1/workers', async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.workers[0].last_seen = new Date(Date.now() - 60_000).toISOString();
    body.workers[1].last_seen = new Date().toISOString();
    await route.fulfill({ response, json: body });
  });
  await page.goto(`${server.url}/workers`);
  await expect(page.locator('[data-worker]')).toHaveText([/^\s*b-there/, /^\s*a-silent\s*silent/]);
  await expect(page.locator('[data-figure="workers"]')).toHaveText('1');
});

for (const theme of themes) {
  test(`accessible in the ${theme} theme, with details, and on a phone`, async ({ server, page }) => {
    test.slow(); // axe looks at everything, several times
    await server.put_many('emails', 5, { type: 'welcome' });
    await server.take('emails', 5, 'mailer-1');
    await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
    await use_theme(page, theme);
    await page.goto(`${server.url}/workers`);
    await page.getByRole('button', { name: 'Details of mailer-1' }).click();
    await expect(page.getByText('and 2 more')).toBeVisible();
    await expect_accessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('in Russian', async ({ server, page }) => {
  await server.must('POST', '/v1/workers/mailer-1/beat', report('emails'));
  await use_language(page, 'ru');
  await page.goto(`${server.url}/workers`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('Воркеры');
  await expect(page.locator(row('mailer-1'))).toContainText('ждёт задач');
});
