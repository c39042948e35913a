// The page around all pages: it opens anywhere, lives, speaks two languages, and signs in.
import { absence, expect, expect_accessible, forgive, test, themes, use_theme } from './fixtures.ts';
import { Proxy } from './proxy.ts';

test('a queue appears and moves without a reload', async ({ page, server }) => {
  await page.goto(server.url);
  await expect(page.getByRole('heading', { name: 'Put the first task' })).toBeVisible();
  await server.put('emails', { type: 'welcome' });
  const row = page.locator('[data-queue=emails]');
  await expect(row.locator('[data-column=ready]')).toHaveText('1');
  await server.put_many('emails', 1500);
  await expect(row.locator('[data-column=ready]')).toHaveText('1,501');
  await server.take('emails');
  await expect(row.locator('[data-column=running]')).toHaveText('1');
});

for (const theme of themes) {
  test(`accessible in ${theme}`, async ({ page, server }) => {
    await server.put('emails');
    await server.fail('invoices', { message: 'no route' });
    await use_theme(page, theme);
    await page.goto(server.url);
    await expect(page.locator('[data-queue=emails]')).toBeVisible();
    await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
    await expect_accessible(page);
  });
}

test('speaks Russian, and remembers it', async ({ page, server }) => {
  await page.goto(server.url);
  await page.getByLabel('Language').selectOption('ru');
  await expect(page.getByRole('link', { name: 'Расписания' })).toBeVisible();
  await page.reload();
  await expect(page.getByRole('heading', { name: 'Поставьте первую задачу' })).toBeVisible();
  await expect(page.locator('html')).toHaveAttribute('lang', 'ru');
});

test('deep links, the back button, keys', async ({ page, server }) => {
  await server.put('emails');
  await page.goto(`${server.url}/queues/emails`);
  await expect(page.getByRole('heading', { level: 1 })).toHaveText('emails');
  await page.getByRole('link', { name: 'Workers', exact: true }).click();
  await expect(page).toHaveURL(`${server.url}/workers`);
  await page.goBack();
  await expect(page).toHaveURL(`${server.url}/queues/emails`);
  await page.keyboard.press('g');
  await page.keyboard.press('d');
  await expect(page).toHaveURL(`${server.url}/dead`);
  await page.keyboard.press('?');
  await expect(page.getByRole('dialog')).toBeVisible();
  await page.goto(`${server.url}/no/such/page`);
  await expect(page.getByRole('heading', { name: 'There is no such page' })).toBeVisible();
});

// S3-054
for (const [what, options, flags] of [
  ['takes its path off', {}, []],
  ['passes paths on', { strip: false }, ['--http-base-path', '/admin/queues']],
  ['tells its path', { headers: { 'X-Forwarded-Prefix': '/admin/queues' } }, []],
] as const) {
  test.describe(`behind a proxy that ${what}`, () => {
    test.use({ flags: [...flags] });
    test('the page works under /admin/queues', async ({ page, server }) => {
      await server.must('POST', flags.length > 0 ? '/admin/queues/v1/tasks' : '/v1/tasks', { queue: 'emails' });
      const proxy = await new Proxy(server.url, '/admin/queues', options).start();
      await page.goto(`${proxy.url}/`);
      await page.locator('[data-queue=emails]').getByRole('link', { name: 'emails' }).click();
      await expect(page).toHaveURL(`${proxy.url}/queues/emails`);
      await page.reload();
      await expect(page.getByRole('heading', { level: 1 })).toHaveText('emails');
      await page.getByRole('link', { name: 'Overview' }).click();
      await expect(page.locator('[data-queue=emails]')).toBeVisible();
      await proxy.stop();
    });
  });
}

test('signs in with a key, under a path, and out again', async ({ page, server, complaints, context }) => {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const reader = await server.make_key('wall', ['read']);
  await server.put('emails');
  const proxy = await new Proxy(server.url, '/admin/queues').start();
  await page.goto(`${proxy.url}/`);
  await expect_accessible(page);
  await page.getByLabel('API key').fill('mr_wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.getByRole('alert')).toHaveText('This key is unknown, has expired or was revoked.');
  await page.getByLabel('API key').fill(reader.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator('[data-queue=emails]')).toBeVisible();
  await expect(page.getByText('Read only')).toBeVisible();
  const [cookie] = await context.cookies();
  expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/admin/queues/', secure: false });
  await page.reload();
  await expect(page.locator('[data-queue=emails]')).toBeVisible();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await expect(page.getByLabel('API key')).toBeVisible();
  expect(await context.cookies()).toEqual([]);
  forgive(complaints, /status of 401/);
  await proxy.stop();
});

test('a session outlives the server, and ends with its key', async ({ page, server, complaints }) => {
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const other = await server.make_key('colleague', ['admin']);
  await server.put('emails');
  await page.goto(server.url);
  await page.getByLabel('API key').fill(other.secret);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await expect(page.locator('[data-queue=emails]')).toBeVisible();
  await server.stop('SIGKILL');
  await expect(page.getByRole('alert')).toContainText('The server does not answer');
  await server.start();
  await server.put('emails');
  await expect(page.locator('[data-queue=emails] [data-column=ready]')).toHaveText('2', { timeout: 20_000 });
  await expect(page.getByRole('alert')).toHaveCount(0);
  await server.must('DELETE', `/v1/keys/${other.id}`);
  await expect(page.getByLabel('API key')).toBeVisible();
  await expect(page.getByText('You are signed out')).toBeVisible();
  forgive(complaints, /status of 401/);
  forgive(complaints, absence);
});

test('a page that is being left asks for nothing of the next one', async ({ page, server }) => {
  await server.put('emails');
  const wrong: string[] = [];
  page.on('request', (request) => {
    if (/\/v1\/(queues|tasks)\/(\/|\?|$)/.test(request.url())) wrong.push(request.url());
  });
  await page.goto(server.url);
  for (let i = 0; i < 5; ++i) {
    await page.getByRole('main').getByRole('link', { name: 'emails', exact: true }).first().click();
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('emails');
    await page.getByRole('link', { name: i % 2 === 0 ? 'Overview' : 'Tasks', exact: true }).click();
    await page.getByRole('link', { name: 'Overview' }).click();
    await expect(page.locator('[data-queue=emails]')).toBeVisible();
  }
  expect(wrong).toEqual([]);
});
