// Groups on the page of a queue, against the real server.
import type { Locator, Page, Request } from '@playwright/test';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const card = (page: Page): Locator => page.locator('[data-groups]');
const row = (page: Page, group: string): Locator => page.locator(`[data-of-group="${group}"]`);
const cell = (page: Page, group: string, label: string): Locator => row(page, group).locator(`[data-label="${label}"]`);
const act = (page: Page, name: string): Locator => card(page).getByRole('button', { name, exact: true });
const box = (page: Page, label: string): Locator => page.getByRole('dialog').getByLabel(label, { exact: true });
const alert_of = (page: Page, field: string): Locator => page.locator(`[data-field="${field}"]`).getByRole('alert');
const path_of = (group: string): string => `/v1/queues/emails/groups/${encodeURIComponent(group)}`;

// A queue of customers; some of their tasks run.
async function fill(server: Server, groups: object = { order: 'fair', max_concurrent: 2 }): Promise<void> {
  await server.must('POST', '/v1/queues', { name: 'emails', groups });
  await server.put_many('emails', 2, { group: 'globex' });
  await server.put_many('emails', 5, { group: 'acme' });
}
async function show(server: Server, page: Page, query = ''): Promise<void> {
  await page.goto(`${server.url}/queues/emails${query}`);
  await expect(card(page)).toBeVisible();
  await expect(card(page).locator('[role=status][aria-label]')).toHaveCount(0);
}
const override_of = async (server: Server, group: string): Promise<unknown> => (await server.must('GET', path_of(group))).override;

// What is sent by it.
async function sent_by(page: Page, method: string, doing: () => Promise<void>): Promise<Request> {
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === method), doing()]);
  return request;
}

test('groups are shown most waiting first, with what keeps their tasks waiting, and lead to their tasks', async ({ server, page }) => {
  await fill(server);
  await server.take('emails', 4);
  await server.put('emails', { group: 'late', delay_ms: 3_600_000 });
  await show(server, page);
  await expect(card(page).locator('[data-of-group]')).toHaveCount(3);
  expect(await card(page).locator('[data-of-group]').evaluateAll((rows) => rows.map((one) => one.getAttribute('data-of-group')))).toEqual(['acme', 'late', 'globex']);
  await expect(cell(page, 'acme', 'Waiting')).toHaveText('3');
  await expect(cell(page, 'acme', 'Ready')).toHaveText('3');
  await expect(cell(page, 'acme', 'Running')).toHaveText('2 of 2');
  await expect(cell(page, 'acme', 'Oldest')).toHaveText(/^\d+\ss$/);
  await expect(cell(page, 'acme', 'State')).toHaveText('full');
  await expect(cell(page, 'late', 'Ready')).toHaveText('0');
  await expect(cell(page, 'late', 'State')).toHaveText('–');
  await server.must('PATCH', path_of('acme'), { max_concurrent: 3, weight: 2, for_ms: 7_200_000 });
  await expect(cell(page, 'acme', 'Running')).toHaveText('2 of 3');
  await expect(cell(page, 'acme', 'State')).toHaveText('in turn');
  await expect(cell(page, 'acme', 'Differently')).toHaveText(/^3 at once · weight 2 · ends in \d+ (min|hr)\.?$/);
  await server.must('PATCH', path_of('globex'), { paused: true });
  await expect(cell(page, 'globex', 'State')).toHaveText('paused');
  await row(page, 'acme').getByRole('link', { name: 'acme' }).click();
  await expect(page).toHaveURL(`${server.url}/tasks?queue=emails&group=acme`);
  await expect(page.locator('tbody tr[data-task]')).toHaveCount(5);
});

test('one group does something differently, for as long as that is wanted', async ({ server, page }) => {
  await fill(server, { order: 'fair', max_concurrent: 2, process_rate: { max: 100, per_ms: 60_000 } });
  await show(server, page);
  await act(page, 'Change acme').press('Enter');
  await expect(box(page, 'Running at once')).toBeFocused();
  await expect(box(page, 'Running at once')).toHaveAttribute('placeholder', '2 (queue)');
  await expect(box(page, 'Starts')).toHaveAttribute('placeholder', /^100 per 1\sm \(queue\)$/);
  await expect(box(page, 'Waiting')).toHaveAttribute('placeholder', 'no limit (queue)');
  await expect(box(page, 'Weight')).toHaveAttribute('placeholder', '1 (queue)');
  const save = page.getByRole('button', { name: 'Save' });
  for (const [label, field, text, told] of [
    ['Running at once', 'max_concurrent', '0', /from 1 on. Or: unlimited/],
    ['Starts', 'process_rate', '100', /such as 100\/1s/],
    ['Waiting', 'max_depth', 'few', /whole number from 1 on/],
    ['Weight', 'weight', '1001', /from 1 to 1,000/],
    ['Ends', 'until', '2020-01-01T00:00', /This moment is past/],
    ['Ends', 'until', '2099-01-01T00:00', /Nothing is different that could end/],
  ] as const) {
    await box(page, label).fill(text);
    await expect(alert_of(page, field)).toHaveText(told);
    await expect(save).toBeDisabled();
    await box(page, label).fill('');
    await expect(alert_of(page, field)).toHaveCount(0);
  }
  await box(page, 'Running at once').fill('unlimited');
  await box(page, 'Starts').fill('500/1h');
  await box(page, 'Ends').fill('2099-01-01T00:00');
  await expect(page.getByText('3 changes')).toBeVisible();
  const request = await sent_by(page, 'PATCH', () => box(page, 'Starts').press('Enter'));
  expect(request.postDataJSON()).toEqual({ max_concurrent: 'unlimited', process_rate: { max: 500, per_ms: 3_600_000 }, until: '2098-12-31T23:00:00.000Z' });
  await expect(page.getByText('acme is changed.')).toBeVisible();
  await expect(cell(page, 'acme', 'Differently')).toHaveText(/^no limit at once · 500 per 1\sh · ends in/);
  await expect(cell(page, 'acme', 'Running')).toHaveText('0');
  await expect(act(page, 'Change acme')).toBeFocused();
  // What is emptied follows the queue again, and the rest stays.
  await act(page, 'Change acme').click();
  await expect(box(page, 'Starts')).toHaveValue('500/1h');
  await box(page, 'Running at once').fill('');
  expect((await sent_by(page, 'PATCH', () => save.click())).postDataJSON()).toEqual({ max_concurrent: null });
  await expect(cell(page, 'acme', 'Differently')).toHaveText(/^500 per 1\sh · ends in/);
});

test('a group is paused and resumed', async ({ server, page }) => {
  await fill(server);
  await show(server, page);
  const pause = page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true });
  await act(page, 'Pause acme').click();
  expect((await sent_by(page, 'PATCH', () => pause.click())).postDataJSON()).toEqual({ pause_for_ms: 900_000 });
  await expect(cell(page, 'acme', 'State')).toHaveText(/^paused for (15\sm|14\sm \d+\ss)$/);
  const resume = act(page, 'Resume acme');
  await expect(resume).toBeFocused();
  expect((await sent_by(page, 'PATCH', () => resume.press('Enter'))).postDataJSON()).toEqual({ paused: false });
  await expect(cell(page, 'acme', 'State')).toHaveText('in turn');
  await expect(act(page, 'Pause acme')).toBeFocused();
  expect(await override_of(server, 'acme')).toBeUndefined();
  // For ever.
  await act(page, 'Pause acme').click();
  await page.getByLabel('until it is resumed').check();
  expect((await sent_by(page, 'PATCH', () => pause.click())).postDataJSON()).toEqual({ paused: true });
  await expect(cell(page, 'acme', 'State')).toHaveText('paused');
  await resume.click();
  // Until a moment, which must be to come.
  await act(page, 'Pause acme').click();
  await page.getByLabel('until a moment').check();
  await pause.click();
  await expect(page.getByRole('dialog').getByRole('alert')).toHaveText(/later than now/);
  await box(page, 'Until').fill('2020-01-01T00:00');
  await expect(page.getByRole('dialog').getByRole('alert')).toHaveText(/later than now/);
  await box(page, 'Until').fill('2099-07-01T12:00');
  expect((await sent_by(page, 'PATCH', () => pause.click())).postDataJSON()).toEqual({ paused_until: '2099-07-01T10:00:00.000Z' });
  await expect(cell(page, 'acme', 'State')).toHaveText(/^paused for [\d,]+\sd/);
  expect(await override_of(server, 'acme')).toEqual({ paused_until: '2099-07-01T10:00:00.000Z' });
});

test('a pause ends with the rest, and the form says so', async ({ server, page }) => {
  await fill(server);
  await server.must('PATCH', path_of('acme'), { weight: 2, for_ms: 7_200_000 });
  await show(server, page);
  await act(page, 'Pause acme').click();
  await expect(page.getByRole('dialog')).toContainText(/All that this group does differently ends at .*, the pause included\./);
});

test('a group is reset when that is confirmed, and no other', async ({ server, page }) => {
  await fill(server);
  for (const group of ['acme', 'globex']) await server.must('PATCH', path_of(group), { weight: 3 });
  await show(server, page);
  const dialog = page.getByRole('dialog');
  await act(page, 'Reset acme').click();
  await expect(dialog).toContainText('Reset the group acme?');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await override_of(server, 'acme')).toEqual({ weight: 3 });
  await act(page, 'Reset acme').click();
  await sent_by(page, 'DELETE', () => dialog.getByRole('button', { name: 'Reset' }).click());
  await expect(page.getByText('acme does as its queue says again.')).toBeVisible();
  await expect(act(page, 'Reset acme')).toHaveCount(0);
  await expect(act(page, 'Change acme')).toBeFocused();
  expect(await override_of(server, 'acme')).toBeUndefined();
  expect(await override_of(server, 'globex')).toEqual({ weight: 3 });
});

test('what others changed meanwhile is told, and stays', async ({ server, page }) => {
  await fill(server);
  await show(server, page);
  await act(page, 'Change acme').click();
  await box(page, 'Weight').fill('4');
  await server.must('PATCH', path_of('globex'), { weight: 9 });
  await expect(cell(page, 'globex', 'Differently')).toHaveText('weight 9');
  await expect(page.getByText('was changed by another user')).toHaveCount(0);
  await server.must('PATCH', path_of('acme'), { max_depth: 50 });
  await expect(page.getByRole('dialog').getByText('This group was changed by another user meanwhile.')).toBeVisible();
  expect((await sent_by(page, 'PATCH', () => page.getByRole('button', { name: 'Save' }).click())).postDataJSON()).toEqual({ weight: 4 });
  await expect(cell(page, 'acme', 'Differently')).toHaveText('50 waiting at most · weight 4');
  expect(await override_of(server, 'acme')).toEqual({ max_depth: 50, weight: 4 });
});

test('what the server refuses is told, and nothing is lost', async ({ server, page, complaints }) => {
  await fill(server);
  await show(server, page);
  let body: unknown;
  await page.route('**/groups/acme', (route) => (route.request().method() === 'PATCH' ? route.continue({ postData: JSON.stringify(body) }) : route.continue()));
  await act(page, 'Change acme').click();
  await box(page, 'Weight').fill('4');
  body = { weight: 5000 };
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(alert_of(page, 'weight')).toHaveText(/^weight is 5000; allowed are 1 to 1000$/);
  await expect(box(page, 'Weight')).toBeFocused();
  await box(page, 'Weight').fill('5');
  await expect(alert_of(page, 'weight')).toHaveCount(0);
  // What is of no field stands above the buttons.
  await page.unroute('**/groups/acme');
  const told = 'group "acme" of queue emails was changed by others all the while; try again';
  await page.route('**/groups/acme', (route) => route.fulfill({ status: 409, json: { code: 'conflict', detail: told } }));
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('dialog').getByRole('alert')).toHaveText(told);
  await expect(box(page, 'Weight')).toHaveValue('5');
  // Without rules there is nothing to change any more.
  await server.must('PATCH', '/v1/queues/emails', { groups: null });
  await expect(card(page)).toContainText('This queue has no rules for groups');
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(act(page, 'Change acme')).toHaveCount(0);
  forgive(complaints, /status of (409|422)/);
});

test('one group is found by its name, also one without tasks', async ({ server, page }) => {
  await fill(server);
  await show(server, page);
  const search = card(page).getByLabel('Exact name of a group');
  await search.fill('globex');
  await expect(row(page, 'acme')).toHaveCount(0);
  await expect(cell(page, 'globex', 'Waiting')).toHaveText('2');
  await expect(page).toHaveURL(/\?group=globex$/);
  await search.fill('a/b?c=ü%2F');
  const name = 'a/b?c=ü%2F';
  await expect(cell(page, name, 'Waiting')).toHaveText('0');
  await act(page, `Pause ${name}`).click();
  await page.getByLabel('until it is resumed').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause', exact: true }).click();
  await expect(cell(page, name, 'State')).toHaveText('paused');
  expect(await override_of(server, name)).toEqual({ paused_until: 'never' });
  await page.reload();
  await expect(cell(page, name, 'State')).toHaveText('paused');
  await expect(search).toHaveValue(name);
});

test('a name that a browser takes out of a path changes no queue', async ({ server, page }) => {
  await fill(server);
  await server.put('emails', { group: '..' });
  await show(server, page);
  let asked = 0;
  page.on('request', (request) => (asked += request.method() === 'PATCH' ? 1 : 0));
  await act(page, 'Change ..').click();
  await box(page, 'Waiting').fill('3');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('dialog').getByRole('alert')).toContainText('A browser cannot ask for a name like “..”');
  expect(asked).toBe(0);
});

test('many groups are shown page by page, and few of a page at first', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', groups: { order: 'fair' } });
  await server.must('POST', '/v1/tasks', Array.from({ length: 130 }, (_, i) => ({ queue: 'emails', group: `customer-${i}` })));
  await show(server, page);
  const rows = card(page).locator('[data-of-group]');
  const names = () => rows.evaluateAll((all) => all.map((one) => one.getAttribute('data-of-group')));
  await expect(rows).toHaveCount(10);
  await card(page).getByRole('button', { name: 'Show all 100 groups' }).click();
  await expect(rows).toHaveCount(100);
  const first = await names();
  await expect(card(page).getByText('Sorted within this page')).toBeVisible();
  await expect(card(page).getByRole('button', { name: 'Back' })).toBeDisabled();
  await card(page).getByRole('button', { name: 'Next page' }).click();
  await card(page).getByRole('button', { name: 'Show all 30 groups' }).click();
  await expect(rows).toHaveCount(30);
  expect(new Set([...first, ...(await names())]).size).toBe(130);
  await expect(card(page).getByRole('button', { name: 'Next page' })).toBeDisabled();
  await card(page).getByRole('button', { name: 'Back' }).click();
  await card(page).getByRole('button', { name: 'Show all 100 groups' }).click();
  expect(await names()).toEqual(first);
});

test('without groups there is no card, without rules it has no buttons, without tasks it says so', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.getByRole('heading', { name: 'Settings' })).toBeVisible();
  await expect(card(page)).toHaveCount(0);
  await server.put('emails', { group: 'acme' });
  await expect(row(page, 'acme')).toBeVisible();
  await expect(card(page)).toContainText('This queue has no rules for groups');
  await expect(cell(page, 'acme', 'Running')).toHaveText('0');
  await expect(card(page).getByRole('button')).toHaveCount(0);
  await server.must('POST', '/v1/queues/emails/clear');
  await server.must('PATCH', '/v1/queues/emails', { groups: { order: 'serial' } });
  await expect(card(page)).toContainText('No task here has a group');
  await expect(card(page)).not.toContainText('This queue has no rules');
});

test('a failure is told, and what was there stays', async ({ server, page, complaints }) => {
  await fill(server);
  await page.route('**/v1/queues/emails/groups*', (route) => route.fulfill({ status: 503, json: { code: 'unavailable', detail: 'not now' } }));
  await page.goto(`${server.url}/queues/emails`);
  await expect(card(page).getByRole('alert')).toContainText('not now');
  await page.unroute('**/v1/queues/emails/groups*');
  await card(page).getByRole('button', { name: 'Try again' }).click();
  await expect(row(page, 'acme')).toBeVisible();
  await expect(card(page).getByRole('alert')).toHaveCount(0);
  forgive(complaints, /status of 503/);
});

test('keys without rights see no buttons, confined ones what they may', async ({ server, page }) => {
  server.key = (await server.make_key('ops', ['admin'])).secret;
  const reader = (await server.make_key('wall', ['read'], ['emails'])).secret;
  await fill(server);
  await page.goto(`${server.url}/queues/emails`);
  await page.getByLabel('API key').fill(reader);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(cell(page, 'acme', 'Waiting')).toHaveText('5');
  await expect(card(page).getByRole('button')).toHaveCount(0);
});

for (const theme of themes) {
  test(`has no violations and stays within a phone, ${theme}`, async ({ server, page }) => {
    await fill(server);
    await server.take('emails', 3);
    await server.put('emails', { group: 'a very long name of a customer without end/and/slashes-and-a-word-that-is-too-long-for-a-line' });
    await server.must('PATCH', path_of('acme'), { max_concurrent: 2, max_depth: 100_000, weight: 3, process_rate: { max: 100, per_ms: 60_000 }, pause_for_ms: 600_000, for_ms: 7_200_000 });
    await use_theme(page, theme);
    if (theme === 'dark') await use_language(page, 'ru');
    for (const width of [1920, 1280, 820, 360]) {
      await page.setViewportSize({ width, height: 800 });
      await show(server, page);
      await expect(row(page, 'acme')).toBeVisible();
      await expect_accessible(page);
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
      expect(await card(page).locator('.content').evaluate((content) => content.scrollWidth - content.clientWidth)).toBe(0);
      for (const i of [0, 1]) {
        await row(page, 'globex').getByRole('button').nth(i).click();
        await expect_accessible(page);
        expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)).toBe(true);
        await page.keyboard.press('Escape');
      }
    }
  });
}

test('a change is in the action log, and leads to the group', async ({ server, page }) => {
  await fill(server);
  await server.must('PATCH', path_of('a/b'), { weight: 3 });
  await page.goto(`${server.url}/actions`);
  const action = page.locator('tr', { hasText: 'Changed a group' });
  await action.getByRole('link', { name: 'emails/a/b' }).click();
  await expect(page).toHaveURL(`${server.url}/queues/emails?group=a%2Fb`);
  await expect(row(page, 'a/b')).toBeInViewport();
});
