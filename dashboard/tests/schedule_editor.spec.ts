// The form in which schedules are made and changed, against the real server.
import type { Locator, Page } from '@playwright/test';
import { expect, forgive, test } from './fixtures.ts';

const nightly = { name: 'nightly', rule: { cron: '0 3 * * *', zone: 'Europe/Berlin' }, task: { queue: 'reports', type: 'daily', payload: { table: 'sessions' } } };
const cleanup = { name: 'cleanup', rule: { every_ms: 5_400_000 }, task: { queue: 'chores' } };
const row = (name: string) => `[data-schedule="${name}"]`;

const open_editor = async (page: Page, name: string): Promise<Locator> => {
  await page.getByRole('button', { name: `Details of ${name}` }).click();
  await page.getByRole('button', { name: 'Edit' }).click();
  return page.getByRole('dialog');
};
const save = async (page: Page): Promise<unknown> => {
  const [request] = await Promise.all([page.waitForRequest((one) => one.method() === 'PATCH'), page.getByRole('button', { name: 'Save' }).click()]);
  await expect(page.getByRole('dialog')).toHaveCount(0);
  return request.postDataJSON();
};

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
  await expect(dialog.getByRole('alert')).toHaveText([/This field is required/, /Hour 25 is out of range 0-23/, /This field is required/, /This is not JSON/]);
  await expect(dialog.getByLabel('Name')).toBeFocused(); // the first of them
  await dialog.getByLabel('Name').fill('letters');
  await dialog.getByLabel('Cron expression').fill('0 0 30 2 *'); // only the server knows
  await dialog.getByLabel('Queue').fill('emails');
  await dialog.getByLabel('Payload').fill('{"a":1}');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.getByRole('alert')).toContainText('nothing would ever fire');
  forgive(complaints, /422/);
  await dialog.getByLabel('Cron expression').fill('0 9 * * FRI#2');
  await server.must('POST', '/v1/schedules', { ...nightly, name: 'taken' });
  await dialog.getByLabel('Name').fill('taken');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog.locator('.field', { has: page.getByLabel('Name') }).getByRole('alert')).toContainText('there is a schedule "taken" already');
  forgive(complaints, /409/);
  await dialog.getByLabel('Name').fill('letters');
  await dialog.getByLabel('Time zone').fill('Asia/Tokyo');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog).toBeHidden();
  await expect(page.locator(row('letters'))).toContainText('On the second Friday of the month at 09:00');
  expect(await server.must('GET', '/v1/schedules/letters')).toMatchObject({
    rule: { cron: '0 9 * * FRI#2', zone: 'Asia/Tokyo' },
    task: { queue: 'emails', payload: { a: 1 } },
  });
});

test('each field is checked while it is typed, in the words of the server', async ({ server, page }) => {
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  const told = (label: string) => dialog.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByRole('alert');
  await expect(dialog.getByRole('alert')).toHaveCount(0); // nothing was typed yet
  for (const cron of ['61 * * * *', '0 24 * * *', '0 0 32 * *', '0 0 * 13 *', '0 0 * * 8', '0 22-2 * * *']) {
    await dialog.getByLabel('Cron expression').fill(cron);
    const refusal = await server.ask('POST', '/v1/schedules', { name: 'x', rule: { cron }, task: { queue: 'q' } });
    const sentence = String(refusal.body.detail).replace(/^.*column \d+: /, '');
    expect(refusal.status).toBe(422);
    expect((await told('Cron expression').innerText()).toLowerCase()).toBe(`${sentence.toLowerCase()}.`);
    await expect(dialog.getByLabel('Cron expression')).toHaveAttribute('aria-invalid', 'true');
  }
  await dialog.getByLabel('Cron expression').fill('* * * *');
  await expect(told('Cron expression')).toHaveText(/^Fields found: 4; write 5 fields/);
  await dialog.getByLabel('Cron expression').fill('0 0 * * 7');
  await expect(told('Cron expression')).toHaveCount(0);
  await dialog.getByLabel('Queue').fill('no such');
  await expect(told('Queue')).toHaveText(/^A space is not allowed/);
  await dialog.getByLabel('Name').fill('ночь');
  await expect(told('Name')).toHaveText(/^“н” is not allowed/);
  await dialog.getByLabel('Task type').fill('a/b');
  await expect(told('Task type')).toHaveText(/^“\/” is not allowed/);
  await dialog.getByLabel('Time zone').fill('Europe/Berlim');
  await expect(told('Time zone')).toHaveText(/does not know this zone/);
  await dialog.getByLabel('Payload').fill('{"a"');
  await expect(told('Payload (JSON)')).toHaveText(/This is not JSON/);
  await dialog.getByLabel('Interval').check();
  await dialog.getByLabel('Every', { exact: true }).fill('50ms');
  await expect(told('Every')).toHaveText(/from 100ms on/);
});

test('an edit sends what is different and leaves the rest', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', { ...nightly, jitter_ms: 5000, overlap: 'allow', task: { ...nightly.task, tags: ['kept'] } });
  await page.goto(`${server.url}/schedules`);
  const dialog = await open_editor(page, 'nightly');
  await dialog.getByLabel('Interval').check();
  await dialog.getByLabel('Every', { exact: true }).fill('1h30m');
  await expect(dialog.locator('[data-said]')).toHaveText('Every 90 minutes');
  expect(await save(page)).toEqual({ rule: { every_ms: 5_400_000, cron: null, zone: null, dst: null } });
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

test('a new one with every setting of the form', async ({ server, page }) => {
  await page.goto(`${server.url}/schedules`);
  await page.getByRole('button', { name: 'New schedule' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('rare');
  await dialog.getByLabel('Queue').fill('reports');
  await dialog.getByLabel('Missed ticks').selectOption('all');
  await dialog.getByLabel('Made up for at most').fill('3');
  await expect(dialog.getByLabel('Jitter')).toBeHidden();
  await dialog.getByText('More settings').click();
  await dialog.getByLabel('When clocks change').selectOption('both');
  await dialog.getByLabel('Jitter').fill('1m30s');
  await dialog.getByLabel('Delay of the task').fill('10s');
  await dialog.getByLabel('Timeout of a run').fill('5m');
  await dialog.getByLabel('Kept when finished').fill('7d');
  await dialog.getByLabel('Priority').fill('8');
  await dialog.getByLabel('Retries').fill('unlimited');
  await dialog.getByLabel('Group').fill('berlin');
  await dialog.getByLabel('Tags').fill('night\n red, blue \nnight\n\n');
  await dialog.getByLabel('Webhook').fill('https://example.com/done');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(dialog).toBeHidden();
  expect(await server.must('GET', '/v1/schedules/rare')).toMatchObject({
    rule: { cron: '0 3 * * *', zone: 'Europe/Berlin', dst: 'both' },
    missed: 'all',
    missed_most: 3,
    jitter_ms: 90_000,
    task: {
      ...{ queue: 'reports', priority: 8, delay_ms: 10_000, timeout_ms: 300_000, keep_for_ms: 604_800_000, retry: { max_retries: 'unlimited' } },
      ...{ group: 'berlin', tags: ['night', 'red, blue'], callback: { url: 'https://example.com/done' } },
    },
  });
  await page.getByRole('link', { name: 'Show it' }).click();
  await expect(page).toHaveURL(/text=rare/);
  await page.getByRole('button', { name: 'Details of rare' }).click();
  const said = (name: string) => page.locator(`[data-setting="${name}"]`);
  await expect(said('rule.dst')).toHaveText('times that come twice fire twice');
  await expect(said('jitter_ms')).toHaveText(/up to 1.m 30.s later/);
  await expect(said('task.keep_for_ms')).toHaveText(/7.d/);
  await expect(said('task.retry.max_retries')).toHaveText('unlimited');
  await expect(said('task.tags').getByRole('link')).toHaveText(['night', 'red, blue']);
  await expect(said('task.callback.url')).toHaveText('https://example.com/done');
  await expect(said('rule.anchor')).toHaveCount(0); // cron has none
});

test('settings are in sight where they are not as usual; what is cleared is sent as null', async ({ server, page }) => {
  const retry = { max_retries: 2, base_ms: 500 };
  const task = { ...cleanup.task, priority: 8, tags: ['a', 'b'], retry, timeout_ms: 60_000, callback: { url: 'https://example.com/', max_attempts: 7 } };
  await server.must('POST', '/v1/schedules', { ...cleanup, rule: { every_ms: 5_400_000, anchor: '2026-01-05T07:10:30Z' }, jitter_ms: 5000, task });
  await server.must('POST', '/v1/schedules', nightly);
  await page.goto(`${server.url}/schedules`);
  const usual = await open_editor(page, 'nightly');
  await expect(usual.getByLabel('Priority')).toBeHidden();
  await usual.getByRole('button', { name: 'Cancel' }).click();

  const dialog = await open_editor(page, 'cleanup');
  await expect(dialog.getByLabel('Jitter')).toHaveValue('5s');
  await expect(dialog.getByLabel('Counted from')).toHaveValue('2026-01-05T08:10:30'); // Berlin
  await expect(dialog.getByLabel('When clocks change')).toHaveCount(0);
  await dialog.getByLabel('Jitter').fill('');
  await dialog.getByLabel('Priority').fill('');
  await dialog.getByLabel('Retries').fill('');
  await dialog.getByLabel('Webhook').fill('');
  await dialog.getByLabel('Tags').fill('b');
  await dialog.getByLabel('Counted from').fill('2026-01-05T09:00');
  expect(await save(page)).toEqual({
    rule: { anchor: '2026-01-05T08:00:00.000Z' },
    jitter_ms: null,
    task: { priority: null, tags: ['b'], retry: { max_retries: null }, callback: null },
  });
  const stored = await server.must('GET', '/v1/schedules/cleanup');
  expect(stored).toMatchObject({ rule: { every_ms: 5_400_000, anchor: '2026-01-05T08:00:00.000Z' }, task: { priority: 5, tags: ['b'], retry: { base_ms: 500 }, timeout_ms: 60_000 } });
  expect([stored.jitter_ms, stored.task.retry.max_retries, stored.task.callback]).toEqual([undefined, undefined, undefined]);

  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Timeout of a run').fill('');
  await dialog.getByLabel('Tags').fill('');
  await dialog.getByLabel('Counted from').fill('');
  expect(await save(page)).toEqual({ rule: { anchor: null }, task: { tags: null, timeout_ms: null } });
});

test('what is wrong with a setting is told where it is typed', async ({ server, page, complaints }) => {
  await server.must('POST', '/v1/schedules', cleanup);
  await page.goto(`${server.url}/schedules`);
  const dialog = await open_editor(page, 'cleanup');
  const told = (label: string) => dialog.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByRole('alert');
  await dialog.getByLabel('Missed ticks').selectOption('all');
  await dialog.getByLabel('Made up for at most').fill('1001');
  await dialog.getByText('More settings').click();
  const bad: [label: string, typed: string, said: RegExp][] = [
    ['Jitter', '2d', /from 0\ss to 1\sd/],
    ['Delay of the task', 'soon', /A duration such as 30s/],
    ['Timeout of a run', '0s', /from 1\sms/],
    ['Kept when finished', '-1d', /A duration such as 30s/],
    ['Priority', '10', /A whole number from 0 to 9/],
    ['Retries', '1.5', /A whole number from 0 on. Or: unlimited/],
    ['Group', 'g'.repeat(256), /255 bytes at most/],
    ['Tags', `fine\n${'ж'.repeat(51)}`, /“ж{20}…” is too long: 100 bytes at most/],
    ['Webhook', 'ftp://example.com', /begins with http/],
  ];
  for (const [label, typed] of bad) await dialog.getByLabel(label, { exact: true }).fill(typed);
  await dialog.getByText('More settings').click();
  await dialog.getByRole('button', { name: 'Save' }).click();
  for (const [label, , said] of bad) await expect(told(label)).toHaveText(said);
  await expect(told('Made up for at most')).toHaveText('A whole number from 1 to 1,000.');
  await dialog.getByLabel('Tags').fill(Array.from({ length: 17 }, (_, i) => `tag${i}`).join('\n'));
  await expect(told('Tags')).toHaveText('16 at most.');
  for (const [label] of bad) await dialog.getByLabel(label, { exact: true }).fill(label === 'Priority' ? '5' : '');
  await dialog.getByLabel('Missed ticks').selectOption('one'); // so its number means nothing

  await dialog.getByLabel('Counted from').pressSequentially('01052026'); // no time yet
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(told('Counted from')).toHaveText('A day and a time, both complete.');
  await dialog.getByLabel('Cron').check(); // it has nothing to count from
  await dialog.getByLabel('Group').fill('a\u0007b'); // only the server minds
  await dialog.getByRole('button', { name: 'Save' }).click();
  await expect(told('Group')).toContainText('without control characters');
  forgive(complaints, /422/);
  await dialog.getByLabel('Group').fill('ab');
  expect(await save(page)).toEqual({ rule: { cron: '0 3 * * *', zone: 'UTC', every_ms: null, anchor: null }, task: { group: 'ab' } });
});

test('the unique key of its tasks, and for how long they are kept', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', cleanup);
  await page.goto(`${server.url}/schedules`);
  const dialog = await open_editor(page, 'cleanup');
  const told = (label: string) => dialog.locator('.field', { has: page.getByLabel(label, { exact: true }) }).getByRole('alert');
  await dialog.getByText('More settings').click();
  await expect(dialog.getByLabel('If the key is taken')).toHaveCount(0);
  await dialog.getByLabel('Unique key').fill('tidy');
  await dialog.getByLabel('If the key is taken').selectOption('postpone the waiting task');
  await expect(told('If the key is taken')).toContainText('give a delay');
  await dialog.getByLabel('Postponed at most').fill('1h');
  await dialog.getByLabel('Delay of the task').fill('10m');
  await dialog.getByLabel('Kept if completed').fill('1d');
  await dialog.getByLabel('Kept if failed or dead').fill('60d');
  expect(await save(page)).toEqual({
    task: {
      ...{ unique: { key: 'tidy', on_conflict: 'postpone', max_delay_ms: 3_600_000 }, delay_ms: 600_000 },
      ...{ keep_completed: { for_ms: 86_400_000 }, keep_dead: { for_ms: 5_184_000_000 } },
    },
  });
  const said = (name: string) => page.locator(`[data-setting="${name}"]`);
  await expect(said('task.unique.on_conflict')).toHaveText('postpone the waiting task');
  await expect(said('task.keep_dead.for_ms')).toHaveText(/60.d/);
  // What means nothing any more goes with what it belongs to.
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('If the key is taken').selectOption('replace the waiting task');
  await dialog.getByLabel('Kept if completed').fill('');
  expect(await save(page)).toEqual({ task: { unique: { on_conflict: 'replace', max_delay_ms: null }, keep_completed: null } });
  await page.getByRole('button', { name: 'Edit' }).click();
  await dialog.getByLabel('Unique key').fill('');
  expect(await save(page)).toEqual({ task: { unique: null } });
  expect((await server.must('GET', '/v1/schedules/cleanup')).task).toMatchObject({ delay_ms: 600_000, keep_dead: { for_ms: 5_184_000_000 } });
});

test('a payload that is not JSON is left alone', async ({ server, page }) => {
  await server.must('POST', '/v1/schedules', { ...cleanup, task: { queue: 'chores', payload_text: 'rm -r cache' } });
  await page.goto(`${server.url}/schedules`);
  const dialog = await open_editor(page, 'cleanup');
  await expect(dialog).toContainText('The payload is not JSON and stays as it is.');
  await dialog.getByLabel('Every', { exact: true }).fill('2h');
  expect(await save(page)).toEqual({ rule: { every_ms: 7_200_000 } });
  expect((await server.must('GET', '/v1/schedules/cleanup')).task.payload_text).toBe('rm -r cache');
});
