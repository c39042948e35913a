// The page of schedules, against the real server.
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const nightly = { name: 'nightly', rule: { cron: '0 3 * * *', zone: 'Europe/Berlin' }, task: { queue: 'reports', type: 'daily', payload: { table: 'sessions' } } };
const cleanup = { name: 'cleanup', rule: { every_ms: 5_400_000 }, task: { queue: 'chores' } };
const row = (name: string) => `[data-schedule="${name}"]`;

async function with_schedules(server: Server): Promise<void> {
  await server.must('POST', '/v1/schedules', nightly);
  await server.must('POST', '/v1/schedules', cleanup);
}

test('a fresh server says what schedules are for', async ({ server, page }) => {
  await page.goto(`${server.url}/schedules`);
  await expect(page.getByRole('heading', { name: 'No schedules yet' })).toBeVisible();
  await with_schedules(server);
  await expect(page.locator(row('nightly'))).toBeVisible();
});

test('rules are said in words, with the next time', async ({ server, page }) => {
  await with_schedules(server);
  await page.goto(`${server.url}/schedules`);
  await expect(page.locator(row('nightly'))).toContainText('Every day at 03:00');
  await expect(page.locator(row('nightly'))).toContainText('0 3 * * * Europe/Berlin');
  await expect(page.locator(row('nightly')).locator('time').first()).toHaveText(/^in /);
  await expect(page.locator(row('nightly')).locator('time').nth(1)).toHaveText(/03:00/);
  await expect(page.locator(row('cleanup'))).toContainText('Every 90 minutes');
  await page.getByRole('button', { name: 'Details of nightly' }).click();
  const ticks = page.getByRole('listitem').filter({ has: page.locator('time') });
  await expect(ticks).toHaveCount(5);
  await expect(page.locator('pre')).toContainText('"table": "sessions"');
});

test('run now puts the task and leads to it', async ({ server, page }) => {
  await with_schedules(server);
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'Run nightly now' }).click();
  await expect(page.getByText('nightly has put its task.')).toBeVisible();
  expect((await server.must('GET', '/v1/queues/reports/stats')).ready).toBe(1);
  const [task] = (await server.must('GET', '/v1/tasks?queue=reports')).tasks;
  await page.getByRole('link', { name: 'See the task' }).click();
  await expect(page).toHaveURL(`${server.url}/tasks/${task.id}`);
});

test('a name opens its row, in one piece, with the tag behind it', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', { ...nightly, name: 'billing-run' });
  await server.must('POST', '/v1/schedules/billing-run/pause');
  await page.goto(`${server.url}/schedules`);
  const name = page.locator(row('billing-run')).getByText('billing-run');
  await name.click();
  await expect(page.locator('pre')).toBeVisible();
  await name.click();
  await expect(page.locator('pre')).toHaveCount(0);
  for (const width of [390, 820, 1280, 1920]) {
    await page.setViewportSize({ width, height: 800 });
    expect(await name.evaluate((one) => one.getClientRects().length)).toBe(1);
    const [mark, tag] = [await name.boundingBox(), await page.locator(row('billing-run')).getByText('paused').boundingBox()];
    expect(tag!.x).toBeGreaterThanOrEqual(mark!.x); // beside it or below it, and never below what opens the row
  }
});

test('pause and resume', async ({ server, page }) => {
  await with_schedules(server);
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'Pause nightly' }).click();
  await expect(page.locator(row('nightly'))).toContainText('paused');
  expect((await server.must('GET', '/v1/schedules/nightly')).paused).toBe(true);
  await page.getByRole('button', { name: 'Resume nightly' }).click();
  await expect(page.getByRole('button', { name: 'Pause nightly' })).toBeVisible();
  expect((await server.must('GET', '/v1/schedules/nightly')).paused).toBeFalsy();
});

// More than the server gives in one page.
const many = 1150;
const with_many = (server: Server) =>
  server.import({
    schedules: Array.from({ length: many }, (_, i) => ({
      name: `job-${String(i).padStart(4, '0')}`,
      rule: { every_ms: i === many - 1 ? 4_620_000 : 3_600_000 },
      task: { queue: 'reports' },
    })),
  });

test('however many there are, they are shown by and by', async ({ server, page }) => {
  await with_many(server);
  const asked: URLSearchParams[] = [];
  page.on('request', (one) => one.url().includes('/v1/schedules?') && asked.push(new URL(one.url()).searchParams));
  await page.goto(`${server.url}/schedules`);
  const rows = page.locator('[data-schedule]');
  await expect(rows).toHaveCount(100);
  await expect(page.locator('[data-count]')).toHaveText('at least 100 schedules');
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect(rows).toHaveCount(200);
  await server.must('POST', '/v1/schedules/job-0150/pause');
  await expect(page.locator(row('job-0150'))).toContainText('paused'); // it is looked at again, too
  for (const one of asked) expect(Number(one.get('limit'))).toBeLessThanOrEqual(200);
  await page.goto(`${server.url}/schedules?text=job-00`); // which is exactly as many as are shown
  await expect(rows).toHaveCount(100);
  await page.getByRole('button', { name: 'Show more' }).click();
  await expect(page.locator('[data-count]')).toHaveText('100 schedules');
  await expect(page.getByRole('button', { name: 'Show more' })).toHaveCount(0);
});

test('a search goes through all of them, and says so', async ({ server, page, complaints }) => {
  await with_many(server);
  await page.goto(`${server.url}/schedules`);
  const count = page.locator('[data-count]');
  await expect(page.locator(row('job-0000'))).toBeVisible();
  let go_on = () => {};
  const held = new Promise<void>((done) => (go_on = done));
  await page.route(/cursor=/, async (route) => {
    await held;
    await route.continue();
  });
  await page.getByRole('searchbox').fill('every 77 minutes');
  await expect(count).toHaveText('searching…');
  await expect(page.getByText('No schedule matches')).toHaveCount(0);
  go_on();
  await expect(page.locator(row('job-1149'))).toBeVisible();
  await expect(count).toHaveText('1 schedule');
  await page.getByRole('searchbox').fill('nothing like this');
  await expect(page.getByText('No schedule matches')).toBeVisible();
  await expect(count).toHaveText('0 schedules');

  await page.unroute(/cursor=/);
  await page.route(/cursor=/, (route) => route.fulfill({ status: 503, json: { code: 'unavailable', detail: 'the disk is gone' } }));
  await page.goto(`${server.url}/schedules?text=job-1149`);
  await expect(page.getByText('the disk is gone')).toBeVisible();
  await expect(page.getByText('No schedule matches')).toHaveCount(0);
  await page.unroute(/cursor=/);
  await page.getByRole('button', { name: 'Try again' }).click();
  await expect(page.locator(row('job-1149'))).toBeVisible();
  forgive(complaints, /503/);
});

test('removing asks first', async ({ server, page }) => {
  await with_schedules(server);
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'Details of nightly' }).click();
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect((await server.ask('GET', '/v1/schedules/nightly')).status).toBe(200);
  await page.getByRole('button', { name: 'Remove' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
  await expect(page.locator(row('nightly'))).toHaveCount(0);
  expect((await server.ask('GET', '/v1/schedules/nightly')).status).toBe(404);
});

test('filters live in the address', async ({ server, page }) => {
  await with_schedules(server);
  await page.goto(`${server.url}/schedules`);
  await expect(page.locator('[data-count]')).toHaveText('2 schedules');
  await page.keyboard.press('/');
  await page.keyboard.type('90 min');
  await expect(page.locator('[data-count]')).toHaveText('1 schedule');
  await expect(page.locator(row('cleanup'))).toBeVisible();
  await page.getByRole('searchbox').fill('03:00');
  await expect(page.locator(row('nightly'))).toBeVisible();
  await expect(page.locator(row('cleanup'))).toHaveCount(0);
  await expect(page).toHaveURL(/text=03%3A00/);
  await page.goto(`${server.url}/schedules?queue=chores`);
  await expect(page.locator(row('cleanup'))).toBeVisible();
  await expect(page.locator(row('nightly'))).toHaveCount(0);
  await page.goto(`${server.url}/schedules?text=nothing`);
  await page.getByRole('button', { name: 'Show all' }).click();
  await expect(page.locator(row('nightly'))).toBeVisible();
});

for (const theme of themes) {
  test(`accessible in the ${theme} theme, with details, in the editor, and on a phone`, async ({ server, page }) => {
    test.slow(); // axe looks at everything, several times
    await with_schedules(server);
    await server.must('POST', '/v1/schedules/cleanup/pause');
    await use_theme(page, theme);
    await page.goto(`${server.url}/schedules`);
    await page.getByRole('button', { name: 'Details of nightly' }).click();
    await expect(page.locator('pre')).toBeVisible();
    await expect_accessible(page);
    await page.getByRole('button', { name: 'New schedule' }).click();
    await page.getByText('More settings').click();
    await page.getByLabel('Priority').fill('ten');
    await page.getByRole('button', { name: 'Create' }).click();
    await expect_accessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)).toBe(true);
    await page.keyboard.press('Escape');
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('in Russian', async ({ server, page }) => {
  await with_schedules(server);
  await use_language(page, 'ru');
  await page.goto(`${server.url}/schedules`);
  await expect(page.locator(row('nightly'))).toContainText('Каждый день в 03:00');
  await expect(page.locator(row('cleanup'))).toContainText('Каждые 90 минут');
  await page.getByRole('button', { name: 'Приостановить nightly' }).click();
  await expect(page.locator(row('nightly'))).toContainText('на паузе');
  await page.getByRole('button', { name: 'Новое расписание' }).click();
  await page.getByText('Другие настройки').click();
  await page.getByLabel('Разброс').fill('скоро');
  await page.getByRole('button', { name: 'Создать' }).click();
  await expect(page.getByRole('alert').filter({ hasText: 'Длительность' })).toHaveText('Длительность, например 1h30m или 1 ч 30 мин, от 0 с до 1 д.');
});

test('who may only read sees no buttons', async ({ server, page }) => {
  await with_schedules(server);
  server.key = (await server.make_key('boss', ['admin'])).secret;
  const reader = await server.make_key('reader', ['read']);
  await page.goto(`${server.url}/schedules`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator(row('nightly'))).toBeVisible();
  for (const name of ['Run nightly now', 'Pause nightly', 'New schedule']) await expect(page.getByRole('button', { name })).toHaveCount(0);
});
