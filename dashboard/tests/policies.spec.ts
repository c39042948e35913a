// Policies by type on the page of a queue, against the real server.
import type { Locator, Page, Request } from '@playwright/test';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const charge = { type: 'charge', timeout_ms: 60_000, retry: { max_retries: 7, cap_after_jitter: true } };
const refund = { type: 'refund', max_lost: 1 };

const row = (page: Page, type: string): Locator => page.locator(`[data-policy="${type}"]`);
const box = (page: Page, label: string): Locator => page.getByRole('textbox', { name: label, exact: true });
const alert_of = (page: Page, field: string): Locator => page.locator(`[data-field="${field}"]`).getByRole('alert');
const save = (page: Page): Locator => page.getByRole('button', { name: 'Save' });

async function stored(server: Server): Promise<unknown> {
  return (await server.must('GET', '/v1/queues/payments')).types;
}

// The page of a queue with these policies.
async function show(server: Server, page: Page, types: object[], more: object = {}): Promise<void> {
  await server.must('POST', '/v1/queues', { name: 'payments', types, ...more });
  await page.goto(`${server.url}/queues/payments`);
  await expect(page.getByRole('heading', { name: 'Policies by type' })).toBeVisible();
}

// What is sent by it.
async function sent_by(page: Page, act: () => Promise<void>): Promise<unknown> {
  const [request] = await Promise.all([page.waitForRequest((one: Request) => one.method() === 'PATCH'), act()]);
  return request.postDataJSON();
}

test('a type gets a policy, all by keyboard', async ({ server, page }) => {
  await server.put('payments', { type: 'report.daily' });
  await server.must('PATCH', '/v1/queues/payments', { timeout_ms: 90_000, retry: { max_retries: 2, backoff: 'fixed' } });
  await page.goto(`${server.url}/queues/payments`);
  await expect(page.getByText('All types follow the settings of the queue.')).toBeVisible();
  await page.getByRole('button', { name: 'Add a type' }).press('Enter');
  const form = page.getByRole('form', { name: 'Policy of a type' });
  await expect(form.getByLabel('Type', { exact: true })).toBeFocused();
  // A type that was seen is offered.
  await expect(form.locator('datalist option')).toHaveAttribute('value', 'report.daily');
  await page.keyboard.type('report.daily');
  // What is left empty is the queue's.
  await expect(box(page, 'Retries')).toHaveAttribute('placeholder', '2');
  await expect(box(page, 'Timeout of a run')).toHaveAttribute('placeholder', /^1\sm 30\ss$/);
  await expect(box(page, 'Lost leases until dead')).toHaveAttribute('placeholder', '3');
  await expect(form.getByLabel('Delay grows').locator('option').first()).toHaveText('not at all (queue)');
  // Only what a type may have for itself.
  for (const label of ['Lease', 'Batch size', 'Most waiting']) await expect(box(page, label)).toHaveCount(0);
  await expect(save(page)).toBeDisabled();
  await page.keyboard.press('Tab');
  await page.keyboard.type('5m');
  await box(page, 'Retries').fill('unlimited');
  await expect(box(page, 'Lost leases until dead')).toHaveAttribute('placeholder', 'unlimited');
  await form.getByLabel('Jitter stays within the longest delay').selectOption('yes');
  await expect(page.getByText('3 changes')).toBeVisible();
  const sent = await sent_by(page, () => box(page, 'Retries').press('Enter'));
  expect(sent).toEqual({ types: { 'report.daily': { timeout_ms: 300_000, retry: { max_retries: 'unlimited', cap_after_jitter: true } } } });
  await expect(row(page, 'report.daily')).toContainText(/Timeout of a run 5\sm.*Retries unlimited.*Jitter stays within the longest delay yes/s);
  await expect(form).toHaveCount(0);
  await expect(page.getByRole('button', { name: 'Add a type' })).toBeFocused();
  expect(await stored(server)).toEqual([{ type: 'report.daily', timeout_ms: 300_000, retry: { max_retries: 'unlimited', cap_after_jitter: true } }]);
});

test('only what was changed is sent, and what others did meanwhile stays', async ({ server, page }) => {
  await show(server, page, [charge, refund]);
  await page.getByRole('button', { name: 'Edit charge' }).click();
  await expect(box(page, 'Timeout of a run')).toBeFocused();
  await expect(box(page, 'Timeout of a run')).toHaveValue('1m');
  await expect(box(page, 'Retries')).toHaveValue('7');
  await expect(page.getByRole('button', { name: /^(Edit|Remove) .*refund/ })).toHaveCount(0); // one at a time
  await box(page, 'Retries').fill('');
  await box(page, 'First delay').fill('2s');
  // An error of another type changes nothing here; one of this type does.
  await server.must('PATCH', '/v1/queues/payments', { types: { refund: { max_lost: 9 } } });
  await expect(row(page, 'refund')).toContainText('Lost leases until dead 9');
  await expect(page.getByText('was changed by another user')).toHaveCount(0);
  await server.must('PATCH', '/v1/queues/payments', { types: { charge: { max_lost: 4 } } });
  await expect(page.getByText('This policy was changed by another user meanwhile.')).toBeVisible();
  await expect(box(page, 'First delay')).toHaveValue('2s');
  expect(await sent_by(page, () => save(page).click())).toEqual({ types: { charge: { retry: { max_retries: null, base_ms: 2000 } } } });
  await expect(row(page, 'charge')).toContainText(/First delay 2\ss/);
  await expect(page.getByRole('button', { name: 'Edit charge' })).toBeFocused();
  expect(await stored(server)).toEqual([
    { type: 'charge', timeout_ms: 60_000, max_lost: 4, retry: { base_ms: 2000, cap_after_jitter: true } },
    { type: 'refund', max_lost: 9 },
  ]);
});

test('one that another user removes meanwhile is reported', async ({ server, page }) => {
  await show(server, page, [charge]);
  await page.getByRole('button', { name: 'Edit charge' }).click();
  await box(page, 'Timeout of a run').fill('5s');
  await server.must('PATCH', '/v1/queues/payments', { types: { charge: null } });
  await expect(page.getByText('This policy was removed by another user meanwhile.')).toBeVisible();
  await expect(box(page, 'Timeout of a run')).toHaveValue('5s');
  await page.getByRole('button', { name: 'Start over' }).click();
  await expect(box(page, 'Timeout of a run')).toHaveValue('');
  await page.getByRole('button', { name: 'Close' }).click();
  await expect(row(page, 'charge')).toHaveCount(0);
  expect(await stored(server)).toBeUndefined();
});

test('the settings of the queue and a policy do not get into each other\'s way', async ({ server, page }) => {
  await show(server, page, [charge]);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const settings = page.getByRole('form', { name: 'Settings' });
  await settings.getByRole('textbox', { name: 'Batch size' }).fill('20');
  await page.getByRole('button', { name: 'Edit charge' }).click();
  const policy = page.getByRole('form', { name: 'Policy of charge' });
  await policy.getByRole('textbox', { name: 'Retries' }).fill('8');
  await policy.getByRole('button', { name: 'Save' }).click();
  await expect(row(page, 'charge')).toContainText('Retries 8');
  await expect(page.getByText('was changed by another user')).toHaveCount(0);
  await settings.getByRole('button', { name: 'Save' }).click();
  await expect(page.getByRole('button', { name: 'Edit', exact: true })).toBeFocused();
  expect(await server.must('GET', '/v1/queues/payments')).toMatchObject({ batch_size: 20, types: [{ retry: { max_retries: 8 } }] });
});

test('a policy goes when that is confirmed, and no other', async ({ server, page }) => {
  await show(server, page, [charge, refund]);
  const remove = page.getByRole('button', { name: 'Remove the policy of charge' });
  await remove.click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Remove the policy of charge?');
  await dialog.getByRole('button', { name: 'Cancel' }).click();
  expect(await stored(server)).toHaveLength(2);
  await remove.click();
  expect(await sent_by(page, () => dialog.getByRole('button', { name: 'Remove' }).click())).toEqual({ types: { charge: null } });
  await expect(row(page, 'charge')).toHaveCount(0);
  await expect(row(page, 'refund')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Add a type' })).toBeFocused();
  expect(await stored(server)).toEqual([refund]);
});

test('what cannot be is told while it is typed', async ({ server, page }) => {
  await show(server, page, [charge]);
  await page.getByRole('button', { name: 'Add a type' }).click();
  const wrong: [label: string, field: string, text: string, told: RegExp][] = [
    ['Timeout of a run', 'timeout_ms', 'soon', /A duration such as 30s or 1h30m, from 1\sms to/],
    ['Lost leases until dead', 'max_lost', '-1', /A whole number from 0 on. Or: unlimited./],
    ['Retries', 'retry.max_retries', '2.5', /A whole number from 0 on. Or: unlimited./],
    ['Factor', 'retry.factor', '0.5', /A number from 1 on./],
    ['Share of jitter', 'retry.jitter_share', '2', /A number from 0 to 1./],
  ];
  for (const [label, field, text, told] of wrong) {
    await box(page, label).fill(text);
    await expect(alert_of(page, field)).toHaveText(told);
    await expect(save(page)).toBeDisabled();
    await box(page, label).fill('');
    await expect(alert_of(page, field)).toHaveCount(0);
  }
  await box(page, 'Retries').fill('4');
  let asked = 0;
  page.on('request', (request) => (asked += request.method() === 'PATCH' ? 1 : 0));
  await expect(alert_of(page, 'type')).toHaveCount(0);
  await save(page).click();
  await expect(alert_of(page, 'type')).toHaveText('Which type of task is it for?');
  const type = page.getByLabel('Type', { exact: true });
  await expect(type).toBeFocused();
  for (const [text, told] of [
    ['two words', /Letters, digits and . _ : - only/],
    ['x'.repeat(101), /100 at most/],
    ['charge', /charge has a policy already; edit that one./],
  ] as const) {
    await type.fill(text);
    await expect(alert_of(page, 'type')).toHaveText(told);
    await expect(type).toHaveAttribute('aria-invalid', 'true');
    await save(page).click();
  }
  expect(asked).toBe(0);
  await type.fill('$internal:type');
  await save(page).click();
  await expect(row(page, '$internal:type')).toContainText('Retries 4');
});

test('what the server refuses is told at its field, and nothing is lost', async ({ server, page, complaints }) => {
  await show(server, page, [charge]);
  let body: unknown;
  await page.route('**/v1/queues/payments', (route) => (route.request().method() === 'PATCH' ? route.continue({ postData: JSON.stringify(body) }) : route.continue()));
  await page.getByRole('button', { name: 'Edit charge' }).click();
  await box(page, 'First delay').fill('5s');
  body = { types: { charge: { retry: { base_ms: 'soon' } } } };
  await save(page).click();
  await expect(alert_of(page, 'retry.base_ms')).toHaveText(/^types\.charge\.retry\.base_ms is "soon"; allowed is a whole number/);
  await expect(box(page, 'First delay')).toHaveValue('5s');
  await expect(box(page, 'First delay')).toBeFocused();
  // What is of no field here stands above the buttons.
  body = { types: { other: { timeout_ms: 'soon' } } };
  await box(page, 'First delay').fill('6s');
  await save(page).click();
  await expect(alert_of(page, 'retry.base_ms')).toHaveCount(0);
  await expect(page.getByRole('form').getByRole('alert')).toHaveText(/^types\.other\.timeout_ms is "soon"/);
  await page.getByRole('button', { name: 'Discard' }).click();
  await page.getByRole('button', { name: 'Add a type' }).click();
  await page.getByLabel('Type', { exact: true }).fill('new');
  await box(page, 'Retries').fill('4');
  body = { types: { new: 5 } };
  await save(page).click();
  await expect(alert_of(page, 'type')).toHaveText(/^types\.new is 5; allowed is an object/);
  await expect(box(page, 'Retries')).toHaveValue('4');
  expect(await stored(server)).toEqual([charge]);
  forgive(complaints, /422/);
});

for (const [who, scopes, may] of [
  ['reads', ['read'], false],
  ['puts and works', ['put', 'work', 'read'], false],
  ['is an admin', ['admin'], true],
] as const) {
  test(`who ${who} ${may ? 'has' : 'has no'} buttons`, async ({ server, page, complaints }) => {
    const admin = await server.make_key('boss', ['admin']);
    server.key = admin.secret;
    const key = await server.make_key('somebody', [...scopes]);
    await server.must('POST', '/v1/queues', { name: 'payments', types: [charge] });
    await page.goto(`${server.url}/queues/payments`);
    await page.getByLabel('API key').fill(key.secret);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect(row(page, 'charge')).toContainText('Retries 7');
    for (const name of ['Add a type', 'Edit charge', 'Remove the policy of charge']) await expect(page.getByRole('button', { name })).toHaveCount(may ? 1 : 0);
    // Where there is nothing to see and nothing to do, there is nothing.
    await server.must('PATCH', '/v1/queues/payments', { types: null });
    await expect(row(page, 'charge')).toHaveCount(0);
    await expect(page.getByRole('heading', { name: 'Policies by type' })).toHaveCount(may ? 1 : 0);
    forgive(complaints, /status of 401/);
  });
}

for (const theme of themes) {
  test(`accessible in the ${theme} theme, and on a phone`, async ({ server, page }) => {
    test.slow(); // axe looks at everything, several times
    await use_theme(page, theme);
    await show(server, page, [charge, refund, { type: 'a-type-with-a-long-name-that-nobody-would-type-twice.eu-central-1' }]);
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Edit charge' }).click();
    await box(page, 'Retries').fill('x');
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.setViewportSize({ width: 360, height: 800 });
    await page.getByRole('button', { name: 'Add a type' }).click();
    await page.getByLabel('Type', { exact: true }).fill('two words');
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('a type keeps its tasks for as long as it says', async ({ server, page }) => {
  await show(server, page, [charge], { keep_completed: { for_ms: 3_600_000 } });
  await page.getByRole('button', { name: 'Edit charge' }).click();
  await expect(box(page, 'Completed for')).toHaveAttribute('placeholder', /^1\sh$/);
  await expect(box(page, 'Completed at most')).toHaveCount(0); // only queues count them
  await box(page, 'Completed for').fill('a while');
  await expect(alert_of(page, 'keep_completed.for_ms')).toContainText('A duration such as 30s');
  await box(page, 'Completed for').fill('0s');
  await box(page, 'Failed and dead for').fill('90d');
  expect(await sent_by(page, () => save(page).click())).toEqual({ types: { charge: { keep_completed: { for_ms: 0 }, keep_dead: { for_ms: 7_776_000_000 } } } });
  await expect(row(page, 'charge')).toContainText(/Completed for 0\ss.*Failed and dead for 90\sd/s);
  // An object without its time is none.
  await page.getByRole('button', { name: 'Edit charge' }).click();
  await box(page, 'Completed for').fill('');
  expect(await sent_by(page, () => save(page).click())).toEqual({ types: { charge: { keep_completed: null } } });
  await expect(row(page, 'charge')).not.toContainText('Completed for');
  expect(await stored(server)).toEqual([{ ...charge, keep_dead: { for_ms: 7_776_000_000 } }]);
});

test('in Russian', async ({ server, page }) => {
  await use_language(page, 'ru');
  await server.must('POST', '/v1/queues', { name: 'payments', types: [charge] });
  await page.goto(`${server.url}/queues/payments`);
  await expect(row(page, 'charge')).toContainText('Повторы 7');
  await page.getByRole('button', { name: 'Изменить charge' }).click();
  await box(page, 'Предел выполнения').fill('5 мин');
  await page.getByRole('button', { name: 'Сохранить' }).click();
  await expect(page.getByText('Сохранена 1 настройка.')).toBeVisible();
  expect(await stored(server)).toEqual([{ ...charge, timeout_ms: 300_000 }]);
  await page.getByRole('button', { name: 'Удалить правила типа charge' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Удалить' }).click();
  await expect(page.getByText('Для типа charge снова действуют правила очереди.')).toBeVisible();
});
