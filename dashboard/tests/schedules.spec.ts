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

test('a new one is described while it is typed, and mistakes are told', async ({ server, page, complaints }) => {
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  const said = dialog.locator('[data-said]');
  await dialog.getByLabel('Cron expression').fill('30 8 * * MON-FRI');
  await expect(said).toHaveText('Monday to Friday at 08:30');
  await dialog.getByLabel('Cron expression').fill('30 25 * * *');
  await dialog.getByLabel('Payload').fill('{"a":');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByRole('alert')).toHaveText([/One to 100 letters/, /not a cron expression/, /This is needed/, /This is not JSON/]);
  await dialog.getByLabel('Name').fill('letters');
  await dialog.getByLabel('Cron expression').fill('0 0 30 2 *'); // only the server knows
  await dialog.getByLabel('Queue').fill('emails');
  await dialog.getByLabel('Payload').fill('{"a":1}');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByRole('alert')).toContainText('nothing would ever fire');
  forgive(complaints, /422/);
  await dialog.getByLabel('Cron expression').fill('0 9 * * FRI#2');
  await dialog.getByLabel('Time zone').fill('Asia/Tokyo');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator(row('letters'))).toContainText('On the second Friday of the month at 09:00');
  expect(await server.must('GET', '/v1/schedules/letters')).toMatchObject({
    rule: { cron: '0 9 * * FRI#2', zone: 'Asia/Tokyo' },
    task: { queue: 'emails', payload: { a: 1 } },
  });
});

test('an edit sends what is different and leaves the rest', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', { ...nightly, jitter_ms: 5000, overlap: 'allow', task: { ...nightly.task, tags: ['kept'] } });
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'Details of nightly' }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Interval').check();
  await dialog.getByLabel('Every', { exact: true }).fill('1h30m');
  await expect(dialog.locator('[data-said]')).toHaveText('Every 90 minutes');
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === 'PATCH'), dialog.getByRole('button', { name: 'Save' }).click()]);
  expect(request.postDataJSON()).toEqual({ rule: { every_ms: 5_400_000, cron: null, zone: null, dst: null } });
  await expect(page.locator(row('nightly'))).toContainText('Every 90 minutes');
  const stored = await server.must('GET', '/v1/schedules/nightly');
  expect(stored).toMatchObject({ rule: { every_ms: 5_400_000 }, jitter_ms: 5000, overlap: 'allow', task: { tags: ['kept'], payload: { table: 'sessions' } } });
  expect(stored.rule.cron).toBeUndefined();
});

test('payloads are shown, edited and kept to the digit', async ({ server, page }) => {
  const made = '{"name":"exact","rule":{"every_ms":3600000},"task":{"queue":"reports","payload":{"id":12345678901234567890,"n":1}}}';
  await fetch(`${server.url}/v1/schedules`, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: made });
  const stored = async (name: string) => (await fetch(`${server.url}/v1/schedules/${name}`)).text();
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'Details of exact' }).click();
  await expect(page.locator('pre')).toContainText('12345678901234567890');
  await page.getByRole('button', { name: 'Edit' }).click();
  const payload = page.getByRole('dialog').getByLabel('Payload');
  await expect(payload).toHaveValue('{\n  "id": 12345678901234567890,\n  "n": 1\n}');
  await payload.fill('{"id": 12345678901234567890, "n": 2}');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  expect(await stored('exact')).toMatch(/"id": ?12345678901234567890, ?"n": ?2/);
  await expect(page.locator('pre')).toContainText('"n": 2');
  await page.getByRole('button', { name: 'New schedule' }).click();
  await page.getByLabel('Name').fill('another');
  await page.getByRole('dialog').getByLabel('Queue').fill('reports');
  await payload.fill('[98765432109876543210]');
  await page.getByRole('button', { name: 'Create' }).click();
  await expect(page.locator(row('another'))).toBeVisible();
  expect(await stored('another')).toContain('98765432109876543210');
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
    await page.getByRole('button', { name: 'Create' }).click();
    await expect_accessible(page);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 360, height: 800 });
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
