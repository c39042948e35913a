// The page of tasks: filters in the address, pages, rows, keys.
import { absence, expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Page } from '@playwright/test';

const rows = (page: Page) => page.locator('tbody tr[data-task]');
const row = (page: Page, id: string) => page.locator(`tr[data-task="${id}"]`);

test('filters live in the address, which can be passed on', async ({ page, server, context }) => {
  const welcome = await server.put('emails', { type: 'welcome', tags: ['vip'], client_id: 'shop' });
  await server.put('emails', { type: 'receipt' });
  await server.put('images', { type: 'resize' });
  const dead = await server.fail('invoices', { code: 'smtp', message: 'no route' }, { type: 'bill' });
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(4);
  await expect(page.locator('[data-total]')).toHaveText('4 tasks');

  await page.getByLabel('Queue', { exact: true }).fill('emails');
  await expect(rows(page)).toHaveCount(2);
  await expect(page).toHaveURL(/queue=emails/);
  await page.getByLabel('Type', { exact: true }).fill('welcome');
  await expect(rows(page)).toHaveCount(1);
  await expect(row(page, welcome)).toBeVisible();
  await page.getByRole('button', { name: 'More filters' }).click();
  await page.getByLabel('Tag').fill('vip');
  await page.getByLabel('Client').fill('shop');
  await expect(page).toHaveURL(/tag=vip.*client_id=shop/);

  const other = await context.newPage();
  await other.goto(page.url());
  await expect(rows(other)).toHaveCount(1);
  await expect(other.getByLabel('Tag')).toHaveValue('vip');
  await other.getByLabel('Tag').fill('nobody');
  await expect(other.getByRole('heading', { name: 'No task matches' })).toBeVisible();
  await other.getByRole('search').getByRole('button', { name: 'Clear filters' }).click();
  await expect(rows(other)).toHaveCount(4);
  await expect(other).toHaveURL(`${server.url}/tasks`);

  await other.locator('[data-chip=failed]').click();
  await expect(rows(other)).toHaveCount(1);
  await expect(row(other, dead)).toContainText('smtp: no route');
  await other.locator('[data-chip=dead]').click();
  await expect(other).toHaveURL(/state=failed%2Cdead/);
  await other.goto(`${server.url}/tasks?error_code=smtp`);
  await expect(rows(other)).toHaveCount(1);
});

test('by when they were created', async ({ page, server }) => {
  await server.put('emails');
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel('Created').selectOption('1h');
  await expect(page).toHaveURL(/within=1h/);
  await expect(rows(page)).toHaveCount(1);
  await page.getByLabel('Created').selectOption('own');
  await page.getByLabel('From').fill('2000-01-01T00:00');
  await page.getByLabel('Until').fill('2000-01-02T00:00');
  await page.getByLabel('Until').blur();
  await expect(page).toHaveURL(/until=2000-01-01T23%3A00%3A00/); // of Berlin, as UTC
  await expect(page.getByRole('heading', { name: 'No task matches' })).toBeVisible();
});

test('finds a text in payloads among many tasks, and says how far it came', async ({ page, server }) => {
  const needle = await server.put('emails', { payload: { to: 'Ёжик@example.org' } });
  await server.put_many('emails', 1200);
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(50);
  await page.keyboard.press('/');
  await page.keyboard.type('ёжик@');
  await expect(rows(page)).toHaveCount(1);
  await expect(row(page, needle)).toBeVisible();
  await expect(page).toHaveURL(/text=/);
});

test('looking far can be stopped and gone on with', async ({ page, server }) => {
  const old = await server.put('emails', { type: 'old' });
  await server.put_many('emails', 2000);
  // Slow, so that there is time to stop it.
  await page.route('**/v1/tasks?*text=*', async (route) => {
    await new Promise((done) => setTimeout(done, 400));
    await route.continue();
  });
  await page.goto(`${server.url}/tasks?text=old`);
  await page.getByRole('button', { name: 'Stop' }).click();
  await expect(page.getByText(/^Looked at the newest [\d,]+ tasks so far/)).toBeVisible();
  await expect(rows(page)).toHaveCount(0);
  await page.getByRole('button', { name: 'Continue' }).click();
  await expect(row(page, old)).toBeVisible();
});

test('pages are turned by cursor, forth and back, also by the browser', async ({ page, server }) => {
  await server.must('POST', '/v1/tasks', Array.from({ length: 120 }, (_, i) => ({ queue: 'emails', type: `t${i}` })));
  await page.goto(`${server.url}/tasks?queue=emails`);
  await expect(rows(page)).toHaveCount(50);
  await expect(rows(page).first()).toContainText('t119');
  await page.getByRole('button', { name: 'Older' }).click();
  await expect(rows(page).first()).toContainText('t69');
  await expect(page).toHaveURL(/cursor=\d+/);
  await page.keyboard.press('n');
  await expect(rows(page)).toHaveCount(20);
  await expect(page.getByRole('button', { name: 'Older' })).toBeDisabled();
  await page.goBack();
  await expect(rows(page).first()).toContainText('t69');
  await page.keyboard.press('p');
  await expect(rows(page).first()).toContainText('t119');
  await expect(page).not.toHaveURL(/cursor/);
  // An address from elsewhere has no page before it, but it has the newest.
  await page.goto(`${server.url}/tasks?queue=emails&cursor=21`);
  await expect(rows(page)).toHaveCount(20);
  await expect(page.getByRole('button', { name: 'Newer' })).toHaveCount(0);
  await page.getByRole('button', { name: 'Newest' }).click();
  await expect(rows(page).first()).toContainText('t119');
});

test('the beginning of each payload is shown, as text', async ({ page, server }) => {
  const id = await server.put('emails', { payload: { to: 'ann', note: '\u202e<b>gnp</b>', rest: 'x'.repeat(400) } });
  const binary = await server.put('emails', { payload_base64: '/wAB' });
  await page.goto(`${server.url}/tasks`);
  const preview = row(page, id).locator('.preview');
  await expect(preview).toContainText('{"to":"ann","note":"\\u202e<b>gnp</b>"');
  expect(((await preview.textContent()) ?? '').length).toBeLessThan(220);
  const [inside, around] = [await preview.boundingBox(), await row(page, id).locator('.what').boundingBox()];
  expect(inside?.width ?? 0).toBeLessThanOrEqual(around?.width ?? 0);
  expect(inside?.height ?? 99).toBeLessThan(30); // one line
  await expect(row(page, binary).locator('.preview')).toHaveCount(0);
});

test('a server that is gone is told of, ages stand still, and what fails for it says so', async ({ page, server, complaints }) => {
  await use_language(page, 'ru');
  await server.put_many('emails', 2);
  await page.goto(`${server.url}/tasks`);
  await rows(page).first().getByRole('checkbox').check();
  await server.stop();
  await expect(page.getByRole('alert')).toContainText('Сервер не отвечает');
  await expect(page.getByRole('alert')).toContainText('Показанное устарело на');
  const time = rows(page).first().locator('.time');
  const before = await time.textContent();
  await page.waitForTimeout(2500);
  expect(await time.textContent()).toBe(before);
  await page.locator('[data-action=remove]').click();
  const dialog = page.getByRole('dialog');
  await dialog.getByRole('button', { name: 'Удалить' }).click();
  await expect(dialog.getByRole('alert')).toContainText('Сервер не отвечает');
  await expect(page.getByText('Failed to fetch')).toHaveCount(0);
  await dialog.getByRole('button', { name: 'Отмена' }).click();
  await server.start();
  await page.getByRole('button', { name: 'Повторить' }).first().click();
  await expect(page.getByRole('alert')).toHaveCount(0);
  await expect(time).not.toHaveText(before ?? '');
  forgive(complaints, absence);
});

test('the keyboard moves, selects and opens', async ({ page, server }) => {
  await server.put_many('emails', 3);
  await page.goto(`${server.url}/tasks`);
  await expect(rows(page)).toHaveCount(3);
  const second = (await rows(page).nth(1).getAttribute('data-task')) ?? '';
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('j');
  await page.keyboard.press('k');
  await page.keyboard.press('x');
  await expect(page.getByLabel(`Select ${second}`)).toBeChecked();
  await page.keyboard.press('Escape');
  await expect(page.getByLabel(`Select ${second}`)).not.toBeChecked();
  await page.keyboard.press('Enter');
  await expect(page).toHaveURL(`${server.url}/tasks/${second}`);
});

test('rows change where they stand, and newer tasks are told of', async ({ page, server }) => {
  const id = await server.put('emails');
  await page.goto(`${server.url}/tasks`);
  await expect(row(page, id).locator('[data-state=queued]')).toBeVisible();
  const [task] = await server.take('emails');
  if (!task) throw new Error('nothing was taken');
  await expect(row(page, id).locator('[data-state=processing]')).toBeVisible();
  await server.settle(task, { outcome: 'done' });
  await server.put('emails');
  await expect(row(page, id).locator('[data-state=completed]')).toBeVisible();
  await expect(rows(page)).toHaveCount(1);
  await page.getByRole('button', { name: 'Show' }).click();
  await expect(rows(page)).toHaveCount(2);
});

test('an empty list fills itself when the first task comes', async ({ page, server }) => {
  await page.goto(`${server.url}/tasks`);
  await expect(page.getByRole('heading', { name: 'No tasks yet' })).toBeVisible();
  await server.put('emails');
  await expect(rows(page)).toHaveCount(1);
});

test('who may only read sees no way to act; a key for some queues chooses one', async ({ page, server }) => {
  await server.put('emails');
  await server.put('secrets');
  server.key = (await server.make_key('ops', ['admin'])).secret;
  const reader = await server.make_key('reader', ['read'], ['emails']);
  await page.goto(`${server.url}/tasks`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('main').getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('heading', { name: 'Choose a queue' })).toBeVisible();
  await page.getByRole('button', { name: 'emails' }).click();
  await expect(rows(page)).toHaveCount(1);
  await expect(page.getByRole('checkbox')).toHaveCount(0);
  await rows(page).first().getByRole('link').first().click();
  await expect(page.getByRole('heading', { name: 'What happened' })).toBeVisible();
  for (const name of ['Remove', 'Cancel task', 'Put again…', 'New task…']) {
    await expect(page.getByRole('button', { name })).toHaveCount(0);
  }
});

test('a queue that is not there is told as such', async ({ page, server, complaints }) => {
  await server.put('emails');
  await page.goto(`${server.url}/tasks?queue=nowhere`);
  await expect(page.getByRole('alert')).toContainText('nowhere');
  forgive(complaints, /status of 404/);
});

for (const theme of themes) {
  test(`accessible in ${theme}, on a wide and on a narrow screen`, async ({ page, server }) => {
    await server.put_many('emails', 30, { type: 'welcome' });
    const id = await server.fail('invoices', { code: 'smtp', message: 'no route' });
    await server.put('images', { delay_ms: 3_600_000 });
    await use_theme(page, theme);
    await page.goto(`${server.url}/tasks`);
    await page.getByLabel(`Select ${id}`).check();
    await expect_accessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await expect(row(page, id)).toBeVisible();
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('speaks Russian', async ({ page, server }) => {
  await server.put_many('emails', 2);
  await use_language(page, 'ru');
  await page.goto(`${server.url}/tasks`);
  await expect(page.locator('[data-total="2"]')).toHaveText('2 задачи');
  await rows(page).first().getByRole('checkbox').check();
  await page.locator('[data-action=remove]').click();
  await expect(page.getByRole('dialog')).toContainText('Удалить 1 задачу навсегда?');
});
