// The page of a queue, against the real server.
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';

const figure = (name: string) => `[data-figure="${name}"]`;

test('numbers move without a reload and lead to the tasks', async ({ server, page }) => {
  await server.put_many('emails', 3);
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('emails');
  await expect(page.locator(figure('ready'))).toHaveText('3');
  await server.put_many('emails', 4);
  await expect(page.locator(figure('ready'))).toHaveText('7');
  await server.take('emails', 2);
  await expect(page.locator(figure('running'))).toHaveText('2');
  await expect(page.locator('[data-state="processing"]')).toHaveText('2');
  await page.getByRole('link', { name: 'Ready' }).click();
  await expect(page).toHaveURL(`${server.url}/tasks?queue=emails&state=queued`);
});

test('a pause for a time says how long it lasts, and resume ends it', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Pause…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('for another time').check();
  await dialog.getByLabel('Duration').fill('soon');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await expect(dialog.getByRole('alert')).toContainText('A duration such as');
  await dialog.getByLabel('Duration').fill('2h30m');
  await dialog.getByRole('button', { name: 'Pause' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator('[data-condition]')).toContainText(/paused for 2\sh (29|30)\sm/);
  const until = Date.parse((await server.must('GET', '/v1/queues/emails')).paused_until) - Date.now();
  expect(until).toBeGreaterThan(2.4 * 3_600_000);
  expect(until).toBeLessThanOrEqual(2.5 * 3_600_000);
  expect(await server.take('emails')).toHaveLength(0);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(page.locator('[data-condition]')).toHaveText('active');
  expect(await server.take('emails')).toHaveLength(1);
});

test('a pause without an end is one until it is resumed', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Pause…' }).click();
  await page.getByLabel('until it is resumed').check();
  await page.getByRole('dialog').getByRole('button', { name: 'Pause' }).click();
  await expect(page.locator('[data-condition]')).toHaveText('paused until resumed');
  expect((await server.must('GET', '/v1/queues/emails')).paused_until).toBe('never');
});

test('draining is asked for first, refuses puts, and can be stopped', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Drain…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
  expect((await server.must('GET', '/v1/queues/emails')).draining).toBeFalsy();
  await page.getByRole('button', { name: 'Drain…' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Drain' }).click();
  await expect(page.locator('[data-condition]')).toContainText('draining');
  expect((await server.ask('POST', '/v1/tasks', { queue: 'emails' })).status).toBe(409);
  await page.getByRole('button', { name: 'Stop draining' }).click();
  await expect(page.locator('[data-condition]')).toHaveText('active');
  await server.put('emails');
});

test('resume ends the pause and leaves draining alone', async ({ server, page }) => {
  await server.put('emails');
  await server.must('POST', '/v1/queues/emails/pause', {});
  await server.must('POST', '/v1/queues/emails/drain');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Resume' }).click();
  await expect(page.getByRole('button', { name: 'Pause…' })).toBeVisible();
  const queue = await server.must('GET', '/v1/queues/emails');
  expect(queue.paused_until).toBeUndefined();
  expect(queue.draining).toBe(true);
});

test('waiting tasks and the queue go only when its name is typed', async ({ server, page }) => {
  await server.put_many('emails', 5);
  const [held] = await server.take('emails');
  await page.goto(`${server.url}/queues/emails`);
  const more = page.getByText('More', { exact: true });
  await more.click();
  await page.getByRole('button', { name: 'Remove waiting tasks…' }).click();
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('4 tasks that wait now are lost');
  await expect(dialog.getByRole('button', { name: 'Remove them' })).toBeDisabled();
  await dialog.getByRole('textbox').fill('emails');
  await dialog.getByRole('button', { name: 'Remove them' }).click();
  await expect(page.getByText('4 tasks are removed.')).toBeVisible();
  await expect(page.locator(figure('ready'))).toHaveText('0');
  await expect(page.locator(figure('running'))).toHaveText('1');
  if (held) await server.settle(held, { outcome: 'done' });
  await more.click();
  await page.getByRole('button', { name: 'Remove the queue…' }).click();
  await dialog.getByRole('textbox').fill('emails');
  await dialog.getByRole('button', { name: 'Remove the queue' }).click();
  await expect(page).toHaveURL(`${server.url}/`);
  await expect.poll(async () => (await server.ask('GET', '/v1/queues/emails')).status).toBe(404);
});

test('settings are checked while they are typed and only changes are sent', async ({ server, page }) => {
  await server.must('POST', '/v1/queues', { name: 'emails', max_depth: 50, retry: { max_retries: 2, factor: 3 }, weight: 7 });
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.locator('[data-setting="max_depth"]')).toHaveText('50');
  await expect(page.locator('[data-setting="lease_ms"]')).toHaveText('1 m');
  await page.getByRole('button', { name: 'Edit' }).click();
  const save = page.getByRole('button', { name: 'Save' });
  await expect(save).toBeDisabled();
  const wrong: [string, string, RegExp][] = [
    ['Lease', '500ms', /from 1\ss to 12\sh/],
    ['Priority among queues', '10', /from 0 to 9/],
    ['Most waiting', 'many', /whole number from 1/],
    ['Most running at once', '0', /from 1 on. Or: unlimited/],
    ['Most puts', '100', /such as 100\/1s/],
    ['Share of jitter', '1.5', /from 0 to 1/],
  ];
  for (const [label, text, told] of wrong) {
    const box = page.getByRole('textbox', { name: label, exact: true });
    const before = await box.inputValue();
    await box.fill(text);
    await expect(page.locator('[data-field]', { has: box }).getByRole('alert')).toHaveText(told);
    await expect(save).toBeDisabled();
    await box.fill(before);
    await expect(page.locator('[data-field]', { has: box }).getByRole('alert')).toHaveCount(0);
  }
  await page.getByRole('textbox', { name: 'Lease', exact: true }).fill('1m30s');
  await page.getByRole('textbox', { name: 'Most puts', exact: true }).fill('100/s');
  await page.getByRole('textbox', { name: 'Most waiting', exact: true }).fill('');
  await page.getByRole('textbox', { name: 'Retries', exact: true }).fill('unlimited');
  await page.getByRole('textbox', { name: 'Description' }).fill('<b>letters</b>');
  await expect(page.getByText('5 changes')).toBeVisible();
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === 'PATCH'), save.click()]);
  expect(request.postDataJSON()).toEqual({
    lease_ms: 90_000,
    put_rate: { max: 100, per_ms: 1000 },
    max_depth: null,
    retry: { max_retries: 'unlimited' },
    description: '<b>letters</b>',
  });
  await expect(page.locator('[data-setting="lease_ms"]')).toHaveText('1 m 30 s');
  await expect(page.locator('[data-setting="max_depth"]')).toHaveText('no limit');
  await expect(page.getByText('<b>letters</b>')).toBeVisible();
  const stored = await server.must('GET', '/v1/queues/emails');
  expect(stored).toMatchObject({ lease_ms: 90_000, weight: 7, retry: { max_retries: 'unlimited', factor: 3 } });
  expect(stored.max_depth).toBeUndefined();
});

test('what only the server knows to be wrong is told beside its field, and nothing is lost', async ({ server, page, complaints }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Batch size' }).fill('20');
  await page.route('**/v1/queues/emails', (route) =>
    route.request().method() === 'PATCH'
      ? route.fulfill({ status: 422, contentType: 'application/problem+json', json: { code: 'invalid', detail: 'batch_size is 20; not today', field: 'batch_size' } })
      : route.continue(),
  );
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-field="batch_size"]').getByRole('alert')).toHaveText('batch_size is 20; not today');
  await expect(page.getByRole('textbox', { name: 'Batch size' })).toHaveValue('20');
  await page.unroute('**/v1/queues/emails');
  await page.getByRole('textbox', { name: 'Batch size' }).fill('21');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-setting="batch_size"]')).toHaveText('21');
  forgive(complaints, /422/);
});

test('a change by another user meanwhile is shown and does not overwrite what is typed', async ({ server, page }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Edit' }).click();
  await page.getByRole('textbox', { name: 'Batch size' }).fill('20');
  await server.must('PATCH', '/v1/queues/emails', { max_depth: 77 });
  await expect(page.getByText('This queue was changed by another user meanwhile.')).toBeVisible();
  await expect(page.getByRole('textbox', { name: 'Batch size' })).toHaveValue('20');
  await page.getByRole('button', { name: 'Start over' }).click();
  await expect(page.getByRole('textbox', { name: 'Most waiting' })).toHaveValue('77');
  await expect(page.getByRole('textbox', { name: 'Batch size' })).toHaveValue('10');
});

test('rates and percentiles by type, over a time that can be chosen', async ({ server, page }) => {
  for (const type of ['welcome', 'welcome', 'receipt']) await server.put('emails', { type });
  const tasks = await server.take('emails', 3);
  for (const [i, task] of tasks.entries()) {
    await server.settle(task, i === 2 ? { outcome: 'failed', retryable: false, error: { message: 'no' } } : { outcome: 'done' });
  }
  await page.goto(`${server.url}/queues/emails`);
  const welcome = page.locator('[data-type="welcome"]');
  await expect(welcome.getByRole('cell')).toHaveCount(7);
  await expect(page.locator('[data-type="receipt"]').getByRole('cell').nth(2)).toHaveText('1');
  await expect(welcome.getByRole('cell').nth(2)).toHaveText('0');
  await expect(welcome.getByRole('cell').nth(5)).toHaveText(/^.+ · .+ · .+$/);
  await expect(page.locator('[data-type-total]').getByRole('cell').nth(2)).toHaveText('1');
  await page.getByRole('button', { name: '6 hours' }).click();
  await expect(page).toHaveURL(/span=6h/);
  await expect(page.getByRole('button', { name: '6 hours' })).toHaveAttribute('aria-pressed', 'true');
  await expect(welcome).toBeVisible();
  // What stands there is of the time that is chosen.
  let go_on = () => {};
  const held = new Promise<void>((done) => (go_on = done));
  await page.route('**/v1/queues/emails/types?*', (route) => held.then(() => route.continue()));
  await page.getByRole('button', { name: '15 min' }).click();
  await expect(welcome).toHaveCount(0);
  go_on();
  await expect(welcome).toBeVisible();
});

test('the past is drawn by type and of one type, with one crosshair, as far back as is chosen', async ({ server, page }) => {
  for (const type of ['welcome', 'welcome', 'receipt']) await server.put('emails', { type });
  for (const task of await server.take('emails', 2)) await server.settle(task, { outcome: 'done' });
  await page.goto(`${server.url}/queues/emails`);
  const figures = page.locator('figure');
  await expect(figures).toHaveCount(6);
  await expect(page.getByRole('img', { name: /^Tasks per minute: Put (3|0), Completed (2|0),/ }).locator('canvas')).toBeVisible();
  await expect(page.getByRole('img', { name: 'Waiting and running: Waiting 1, Running 0' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Completed per minute, by type: (welcome|receipt) \d, (welcome|receipt) \d$/ })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Running time: p50 .+, p95 .+, p99 .+/ })).toBeVisible();
  // The pointer over one chart shows its moment in all of them.
  await page.locator('.u-over').first().hover();
  await expect(page.locator('figure .moment').filter({ hasText: /^\d\d:\d\d$/ })).toHaveCount(6);
  const [request] = await Promise.all([
    page.waitForRequest((one) => one.url().includes('type=welcome')),
    page.getByRole('combobox', { name: 'Type' }).selectOption('welcome'),
  ]);
  expect(new URL(request.url()).searchParams.get('queue')).toBe('emails');
  await expect(page).toHaveURL(/[?&]type=welcome/);
  await expect(figures).toHaveCount(3); // what waits is not counted by type
  await expect(page.locator('[data-sum]')).toContainText('2 put, 2 completed, 0 failed.');
  const [month] = await Promise.all([
    page.waitForRequest((one) => one.url().includes('step=1h')),
    page.getByRole('button', { name: '30 days' }).click(),
  ]);
  const days = (Date.now() - Date.parse(new URL(month.url()).searchParams.get('from') ?? '')) / 86_400_000;
  expect(days).toBeGreaterThan(29);
  expect(days).toBeLessThan(30);
  await expect(page.getByRole('heading', { name: 'The last 30 days' })).toBeVisible();
  await expect(page.getByRole('img', { name: /^Tasks per hour: Put 2, Completed 2,/ })).toBeVisible();
});

test('a schedule that is due is about to fire, not past', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', { name: 'nightly', rule: { every_ms: 3_600_000 }, task: { queue: 'emails' } });
  await page.route('**/v1/schedules?*', async (route) => {
    const response = await route.fetch();
    const { schedules } = await response.json();
    await route.fulfill({ response, json: { schedules: schedules.map((one: object) => ({ ...one, next: new Date(Date.now() - 3000).toISOString() })) } });
  });
  await use_language(page, 'ru');
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.locator('[data-schedule="nightly"] time')).toHaveText('сейчас');
  await page.unrouteAll({ behavior: 'ignoreErrors' });
});

test('its workers and its schedules, and no others', async ({ server, page }) => {
  await server.put('emails');
  await server.put('other');
  await server.take('emails', 1, 'mailer');
  await server.take('other', 1, 'stranger');
  await server.must('POST', '/v1/schedules', { name: 'nightly', rule: { cron: '0 3 * * *', zone: 'Europe/Berlin' }, task: { queue: 'emails' } });
  await server.must('POST', '/v1/schedules', { name: 'elsewhere', rule: { every_ms: 60_000 }, task: { queue: 'other' } });
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.locator('[data-worker="mailer"]')).toBeVisible();
  await expect(page.locator('[data-worker="stranger"]')).toHaveCount(0);
  await expect(page.locator('[data-schedule="nightly"]')).toContainText('Every day at 03:00');
  await expect(page.locator('[data-schedule="elsewhere"]')).toHaveCount(0);
  await page.getByRole('button', { name: 'Run nightly now' }).click();
  await expect(page.locator(figure('ready'))).toHaveText('1');
});

test('another queue shows nothing of the one before; one that is not there is said so', async ({ server, page, complaints }) => {
  await server.must('POST', '/v1/queues', { name: 'one', description: 'the first' });
  await server.must('POST', '/v1/queues', { name: 'two' });
  await page.goto(`${server.url}/queues/one`);
  await expect(page.getByText('the first')).toBeVisible();
  // The server takes its time; nothing of the other one may stand there meanwhile.
  let go_on = () => {};
  const held = new Promise<void>((done) => (go_on = done));
  await page.route('**/v1/queues/two**', (route) => held.then(() => route.continue()));
  await page.evaluate(() => {
    history.pushState(null, '', '/queues/two');
    dispatchEvent(new PopStateEvent('popstate'));
  });
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('two');
  await expect(page.getByText('the first')).toHaveCount(0);
  await expect(page.locator('[data-condition]')).toHaveCount(0);
  go_on();
  await expect(page.locator('[data-condition]')).toHaveText('active');
  await page.goto(`${server.url}/queues/nowhere`);
  await expect(page.getByText('This does not exist, or was removed')).toBeVisible();
  await expect(page.getByRole('button', { name: 'Pause…' })).toHaveCount(0);
  forgive(complaints, /404/);
});

for (const theme of themes) {
  test(`accessible in the ${theme} theme, also while settings are edited, and on a phone`, async ({ server, page }) => {
    test.slow(); // axe looks at everything, several times
    await server.put_many('emails', 2, { type: 'welcome' });
    await server.fail('emails', { message: 'no' }, { type: 'welcome' });
    await server.must('POST', '/v1/schedules', { name: 'nightly', rule: { cron: '0 3 * * *' }, task: { queue: 'emails' } });
    await use_theme(page, theme);
    await page.goto(`${server.url}/queues/emails`);
    await expect(page.locator('[data-type="welcome"]')).toBeVisible();
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Edit' }).click();
    await page.getByRole('textbox', { name: 'Batch size' }).fill('x');
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Pause…' }).click();
    await expect_accessible(page);
    await page.keyboard.press('Escape');
    await page.setViewportSize({ width: 360, height: 800 });
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}

test('in Russian', async ({ server, page }) => {
  await server.put('emails');
  await use_language(page, 'ru');
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.locator('[data-condition]')).toHaveText('работает');
  await page.getByRole('button', { name: 'Изменить' }).click();
  await page.getByRole('textbox', { name: 'Аренда', exact: true }).fill('1м 30с');
  await page.getByRole('button', { name: 'Сохранить' }).click();
  await expect(page.getByText('Сохранена 1 настройка.')).toBeVisible();
  expect((await server.must('GET', '/v1/queues/emails')).lease_ms).toBe(90_000);
  // Units and numbers are Russian, too, and what is shown can be typed.
  await expect(page.locator('[data-setting="lease_ms"]')).toHaveText('1 мин 30 с');
  await expect(page.locator('[data-setting="retry.jitter_share"]')).toHaveText('0,2');
  await page.getByRole('button', { name: 'Изменить' }).click();
  await page.getByRole('textbox', { name: 'Доля разброса' }).fill('0,5');
  await page.getByRole('textbox', { name: 'Запусков не больше' }).fill('100/1 мин');
  await page.getByRole('button', { name: 'Сохранить' }).click();
  await expect(page.locator('[data-setting="process_rate"]')).toHaveText('100 за 1 мин');
  expect(await server.must('GET', '/v1/queues/emails')).toMatchObject({ retry: { jitter_share: 0.5 }, process_rate: { max: 100, per_ms: 60_000 } });
});

test('who may only read sees the numbers and no buttons', async ({ server, page }) => {
  await server.put('emails');
  const admin = await server.make_key('boss', ['admin']);
  server.key = admin.secret;
  const reader = await server.make_key('reader', ['read']);
  await page.goto(`${server.url}/queues/emails`);
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator(figure('ready'))).toHaveText('1');
  for (const name of ['Pause…', 'Drain…', 'Edit']) await expect(page.getByRole('button', { name })).toHaveCount(0);
  await expect(page.getByText('More', { exact: true })).toHaveCount(0);
});

test('dead letters are told to another queue, which the server knows', async ({ server, page, complaints }) => {
  await server.must('POST', '/v1/queues', { name: 'emails' });
  await server.must('POST', '/v1/queues', { name: 'troubles' });
  await page.goto(`${server.url}/queues/emails`);
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  const field = page.locator('[data-field=dead_letter_queue]');
  await field.getByRole('textbox').fill('no such');
  await expect(field.getByRole('alert')).toContainText('A space is not allowed');
  await field.getByRole('textbox').fill('nowhere');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(field.getByRole('alert')).toContainText('nowhere');
  forgive(complaints, /status of 4/);
  await field.getByRole('textbox').fill('troubles');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-setting=dead_letter_queue]')).toHaveText('troubles');
  expect(await server.must('GET', '/v1/queues/emails')).toMatchObject({ dead_letter_queue: 'troubles' });
  await page.getByRole('button', { name: 'Edit', exact: true }).click();
  await field.getByRole('textbox').fill('');
  await page.getByRole('button', { name: 'Save' }).click();
  await expect(page.locator('[data-setting=dead_letter_queue]')).toHaveText('not set');
});
