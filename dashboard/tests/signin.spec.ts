// Who may do what: keys and their scopes, as the page shows them and as the server holds to them.
import type { Page } from '@playwright/test';
import { expect, forgive, test } from './fixtures.ts';
import type { Server } from './server.ts';

async function keys(server: Server): Promise<Record<'admin' | 'reader' | 'putter' | 'shop', string>> {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const secret = async (name: string, scopes: string[], queues: string[] = []) => (await server.make_key(name, scopes, queues)).secret;
  return {
    admin: admin.secret,
    reader: await secret('wall', ['read']),
    putter: await secret('app', ['put']),
    shop: await secret('shop', ['put', 'read'], ['shop.*']),
  };
}

async function sign_in(page: Page, url: string, key: string): Promise<void> {
  await page.goto(url);
  await page.getByLabel('API key').fill(key);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
}

async function fill(server: Server): Promise<void> {
  await server.put('shop.emails');
  await server.fail('shop.emails', { message: 'no route' });
  await server.fail('emails', { message: 'no route' });
  await server.must('POST', '/v1/schedules', { name: 'daily', rule: { every_ms: 86_400_000 }, task: { queue: 'emails' } });
}

test('a key that reads sees everything and has no buttons', async ({ page, server }) => {
  const { reader } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, reader);
  await expect(page.getByText('Read only')).toBeVisible();
  const id = (await server.must('GET', '/v1/dead')).tasks[0].id as string;
  const acting = /\b(retry|remove|cancel|pause|drain|run now|edit|save|put|release|stop|delete|create|new)\b/i;
  for (const path of ['/', '/queues/emails', '/tasks', `/tasks/${id}`, '/dead', '/schedules', '/workers', '/operations', '/actions', '/keys']) {
    await page.goto(server.url + path);
    await expect(page.getByRole('heading').first()).toBeVisible();
    await expect(page.locator('main [role=status][aria-label]')).toHaveCount(0);
    await expect(page.getByRole('main').getByRole('button', { name: acting })).toHaveCount(0);
  }
  await page.goto(`${server.url}/dead`);
  await expect(page.locator('[data-group]')).toHaveCount(2);
});

test('the same pages have buttons for an admin', async ({ page, server }) => {
  const { admin } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, admin);
  await expect(page.getByText('Read only')).toHaveCount(0);
  await page.goto(`${server.url}/dead`);
  await expect(page.getByRole('button', { name: 'Retry 1' })).toHaveCount(2);
});

test('what the page does not show, the server refuses', async ({ page, server, complaints }) => {
  const { reader } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, reader);
  const ask = (path: string, headers: Record<string, string>) =>
    page.evaluate(
      async ([to, given]) => (await fetch(to, { method: 'POST', headers: given })).status,
      [server.url + path, headers] as const,
    );
  expect(await ask('/v1/queues/emails/pause', { 'X-Requested-By': 'dashboard' })).toBe(403);
  forgive(complaints, /status of 403/);
});

test('a change with the cookie alone is refused: another page could have sent it', async ({ page, server, complaints }) => {
  const { admin } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, admin);
  const pause = (headers: Record<string, string>) =>
    page.evaluate(
      async ([to, given]) => (await fetch(to, { method: 'POST', headers: given })).status,
      [`${server.url}/v1/queues/emails/pause`, headers] as const,
    );
  expect(await pause({})).toBe(403);
  expect((await server.must('GET', '/v1/queues/emails')).paused_until).toBeUndefined();
  expect(await pause({ 'X-Requested-By': 'dashboard' })).toBe(200);
  forgive(complaints, /status of 403/);
});

test('a key for some queues sees and touches these only', async ({ page, server, complaints }) => {
  const { shop } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, shop);
  await expect(page.locator('[data-queue="shop.emails"]')).toBeVisible();
  await expect(page.locator('[data-queue=emails]')).toHaveCount(0);
  await page.goto(`${server.url}/dead`);
  await expect(page.getByRole('heading', { name: 'Choose a queue' })).toBeVisible();
  await page.getByLabel('Queue').selectOption('shop.emails');
  await expect(page.locator('[data-group]')).toHaveCount(1);
  await expect(page.getByRole('button', { name: /Retry|Remove/ })).toHaveCount(0);
  // Neither by hand.
  await page.goto(`${server.url}/dead?queue=emails`);
  await expect(page.getByRole('alert')).toContainText('this key');
  await expect(page.locator('[data-group]')).toHaveCount(0);
  await page.goto(`${server.url}/actions`);
  await expect(page.getByRole('heading', { name: 'This key may not read the action log' })).toBeVisible();
  forgive(complaints, /status of 403/);
});

test('a key that may not read cannot look, and is told so', async ({ page, server, complaints }) => {
  const { putter } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, putter);
  await expect(page.getByRole('alert')).toContainText('read');
  forgive(complaints, /status of 403/);
});

test('ten wrong keys, and one has to wait with further ones', async ({ page, server, complaints }) => {
  const { admin } = await keys(server);
  await page.goto(server.url);
  for (let i = 0; i < 10; ++i) {
    const answer = await page.request.post(`${server.url}/v1/session`, { data: { key: `mr_wrong${i}`, path: '/' }, headers: { 'X-Requested-By': 'dashboard' } });
    expect(answer.status()).toBe(401);
  }
  await page.getByLabel('API key').fill('mr_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toContainText('Too many wrong keys');
  // Others behind the same proxy have the same address.
  await page.getByLabel('API key').fill(admin);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('button', { name: 'Sign out' })).toBeVisible();
  forgive(complaints, /status of 429/);
});

test('signing out in one tab ends the other', async ({ page, server, context, complaints }) => {
  const { admin } = await keys(server);
  await fill(server);
  await sign_in(page, server.url, admin);
  const other = await context.newPage();
  await other.goto(server.url);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await expect(other.getByLabel('API key')).toBeVisible();
  await expect(page.getByLabel('API key')).toBeVisible();
  // The key itself never stays in the browser.
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }))).not.toContain(admin);
  forgive(complaints, /status of 401/);
});
