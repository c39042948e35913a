// The page of API keys, against the real server.
import type { Page } from '@playwright/test';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import type { Server } from './server.ts';

const row = (name: string) => `[data-key="${name}"]`;
const secret = (page: Page) => page.locator('[data-secret] code');

async function sign_in(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
}

// A server with one admin key, and a page that is signed in with it.
async function as_admin(page: Page, server: Server): Promise<string> {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  await sign_in(page, `${server.url}/keys`, admin.secret);
  return admin.id;
}

async function begin_first(page: Page, server: Server): Promise<void> {
  await page.goto(`${server.url}/keys`);
  await page.getByRole('button', { name: 'Create the first key' }).click();
  await page.getByRole('dialog').getByLabel('Name').fill('Ann');
  await page.getByRole('dialog').getByRole('button', { name: 'Create' }).click();
}

test('the first key: what it changes, shown once, and signed in with', async ({ page, server, complaints }) => {
  await page.goto(`${server.url}/keys`);
  await expect(page.getByRole('heading', { name: 'This server has no keys' })).toBeVisible();
  await expect(page.getByText('millrace keys create --store DIR --name admin --scope admin')).toBeVisible();
  await begin_first(page, server);
  const key = await secret(page).innerText();
  server.key = key;
  expect(await server.must('GET', '/v1/keys')).toMatchObject({ keys: [{ name: 'Ann', scopes: ['admin'] }] });
  await expect(page.getByText('You are signed in with it here.')).toBeVisible();
  // Nothing but its button takes it away.
  for (let i = 0; i < 3; ++i) await page.keyboard.press('Escape');
  await page.mouse.click(5, 5);
  await expect(secret(page)).toHaveText(key);
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await expect(page.getByRole('dialog')).toHaveCount(0);
  await expect(page.locator(row('Ann'))).toContainText('yours');
  expect(await page.content()).not.toContain(key);
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(key);
  await page.reload();
  await expect(page.locator(row('Ann'))).toBeVisible();
  forgive(complaints, /status of 401/);
});

test('the first key is not lost where signing in with it fails', async ({ page, server, complaints }) => {
  await page.route('**/v1/session', (route) => (route.request().method() === 'POST' ? route.abort() : route.continue()));
  await begin_first(page, server);
  await expect(page.getByText('this page too: sign in with it')).toBeVisible();
  await expect(page.getByRole('heading', { name: 'Sign in' })).toBeAttached(); // behind it
  const key = await secret(page).innerText();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  await page.unroute('**/v1/session');
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator(row('Ann'))).toBeVisible();
  forgive(complaints, /status of 401|ERR_FAILED/);
});

test('a browser that leaves while a key is shown asks first', async ({ page, server }) => {
  await as_admin(page, server);
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('wall');
  await dialog.getByLabel('read').check();
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(secret(page)).toBeVisible();
  const asked = page.waitForEvent('dialog');
  void page.evaluate(() => location.reload());
  const question = await asked;
  expect(question.type()).toBe('beforeunload');
  await question.dismiss();
  await expect(secret(page)).toBeVisible();
});

test('a key with everything that it can have', async ({ page, server }) => {
  await as_admin(page, server);
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Name').fill('mail service');
  await dialog.getByLabel('put').check();
  await dialog.getByLabel('work').check();
  await dialog.getByLabel('Queues', { exact: true }).fill('emails\nshop.*\n');
  await dialog.getByLabel('Expires').selectOption('90');
  await dialog.getByLabel('Requests').fill('100/1s');
  await dialog.getByRole('button', { name: 'Create' }).click();
  const key = await secret(page).innerText();
  await page.getByRole('button', { name: 'I have stored it' }).click();
  const made = (await server.must('GET', '/v1/keys')).keys.find((one: { name: string }) => one.name === 'mail service');
  expect(made).toMatchObject({ scopes: ['put', 'work'], queues: ['emails', 'shop.*'], rate: { max: 100, per_ms: 1000 } });
  const days = (Date.parse(made.expires) - Date.parse(made.created_at)) / 86_400_000;
  expect(days).toBeGreaterThan(89.9);
  expect(days).toBeLessThan(90.1);
  const shown = page.locator(row('mail service'));
  for (const text of [made.id, 'put', 'work', 'emails', 'shop.*', '100 / 1s']) await expect(shown).toContainText(text);
  await expect(page.locator('[data-count]')).toHaveText('2 keys');
  server.key = key;
  expect((await server.ask('POST', '/v1/tasks', { queue: 'shop.a' })).status).toBe(201);
  expect((await server.ask('POST', '/v1/tasks', { queue: 'other' })).status).toBe(403);
});

test('the form is checked while it is typed', async ({ page, server, complaints }) => {
  await as_admin(page, server);
  await page.getByRole('button', { name: 'New key' }).click();
  const dialog = page.getByRole('dialog');
  const told = dialog.getByRole('alert');
  await dialog.getByLabel('Queues', { exact: true }).fill('shop *');
  await expect(told).toHaveText([/^A space is not allowed/]);
  await dialog.getByLabel('Queues', { exact: true }).fill('shop/*');
  await expect(told).toHaveText([/^“\/” is not allowed/]);
  await dialog.getByLabel('Queues', { exact: true }).fill('');
  await dialog.getByLabel('Requests').fill('many');
  await expect(told).toHaveText([/such as 100\/1s/]);
  await dialog.getByLabel('Requests').fill('');
  await dialog.getByLabel('Expires').selectOption('until');
  await dialog.getByLabel('Valid until').fill('2020-01-01T00:00');
  await expect(told).toHaveText(['This moment is over.']);
  await dialog.getByLabel('Expires').selectOption('never');
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(told).toHaveText([/which program or person/, 'Choose at least one.']);
  await expect(dialog.getByLabel('Name')).toBeFocused();
  await dialog.getByLabel('admin').check();
  await expect(dialog.getByLabel('Queues', { exact: true })).toHaveCount(0);
  await expect(dialog.getByText('cannot be confined to queues')).toBeVisible();
  await dialog.getByLabel('Name').fill('a\u0007b'); // only the server minds
  await dialog.getByRole('button', { name: 'Create' }).click();
  await expect(told).toHaveText([/control characters/]);
  forgive(complaints, /422/);
});

test('revoking asks first; the last admin key stays; your own signs you out', async ({ page, server, complaints }) => {
  await as_admin(page, server);
  await server.make_key('wall', ['read']);
  await page.reload();
  await page.getByRole('button', { name: 'Revoke wall' }).click();
  await page.getByRole('dialog').getByRole('button').first().click();
  expect((await server.must('GET', '/v1/keys')).keys).toHaveLength(2);
  await page.getByRole('button', { name: 'Revoke wall' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.locator(row('wall'))).toHaveCount(0);
  expect((await server.must('GET', '/v1/keys')).keys).toHaveLength(1);
  await server.make_key('other wall', ['read']);
  await page.reload();
  await page.getByRole('button', { name: 'Revoke ops' }).click();
  await expect(page.getByRole('dialog')).toContainText('will be signed out');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByText('is the last one with the scope admin')).toBeVisible();
  forgive(complaints, /409/);
  await server.make_key('colleague', ['admin']);
  await page.getByRole('button', { name: 'Revoke ops' }).click();
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByLabel('API key')).toBeVisible();
  forgive(complaints, /status of 401/);
});

test('without its only key the server needs none again', async ({ page, server }) => {
  await as_admin(page, server);
  await page.getByRole('button', { name: 'Revoke ops' }).click();
  await expect(page.getByRole('dialog')).toContainText('It is the only key');
  await page.getByRole('dialog').getByRole('button', { name: 'Revoke' }).click();
  await expect(page.getByRole('heading', { name: 'This server has no keys' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'Sign out' })).toHaveCount(0);
});

test('who may not manage keys is not led there', async ({ page, server }) => {
  server.key = (await server.make_key('ops', ['admin'])).secret;
  const reader = await server.make_key('wall', ['read']);
  await sign_in(page, server.url, reader.secret);
  await expect(page.getByRole('link', { name: 'Action log' })).toBeVisible();
  await expect(page.getByRole('link', { name: 'API keys' })).toHaveCount(0);
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  await expect(page.getByRole('dialog')).not.toContainText('API keys');
  await page.goto(`${server.url}/keys`);
  await expect(page.getByRole('heading', { name: 'This key may not manage keys' })).toBeVisible();
  await expect(page.getByRole('button', { name: 'New key' })).toHaveCount(0);
});

test('who may is: by the navigation and by keys', async ({ page, server }) => {
  await page.goto(server.url);
  await page.getByRole('link', { name: 'API keys' }).click();
  await expect(page).toHaveURL(`${server.url}/keys`);
  await page.goBack();
  await page.keyboard.press('g');
  await page.keyboard.press('k');
  await expect(page).toHaveURL(`${server.url}/keys`);
});

for (const theme of themes) {
  test(`accessible in the ${theme} theme: the list, the form, the key, and on a phone in Russian`, async ({ page, server }) => {
    test.slow(); // axe looks at everything, several times
    await as_admin(page, server);
    await server.must('POST', '/v1/keys', { name: 'shop', scopes: ['put', 'work'], queues: ['shop.*'], rate: { max: 100, per_ms: 1000 } });
    await server.must('POST', '/v1/keys', { name: 'old', scopes: ['read'], expires: new Date(Date.now() + 500).toISOString() });
    await use_theme(page, theme);
    await use_language(page, 'ru');
    await page.reload();
    await expect(page.locator(row('old'))).toContainText('истёк');
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Новый ключ' }).click();
    await page.getByRole('button', { name: 'Создать' }).click();
    await expect(page.getByRole('alert')).toHaveCount(2);
    await expect_accessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)).toBe(true);
    await page.getByLabel('Имя').fill('wall');
    await page.getByLabel('read').check();
    await page.getByRole('button', { name: 'Создать' }).click();
    await expect(secret(page)).toBeVisible();
    expect(await page.getByRole('dialog').evaluate((dialog) => dialog.scrollWidth <= dialog.clientWidth)).toBe(true);
    await expect_accessible(page);
    await page.getByRole('button', { name: 'Ключ сохранён' }).click();
    await expect_accessible(page);
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(360);
  });
}
