// Every page, with a lot to show and with nothing, in both themes: no violation of WCAG 2.1 AA, and no
// scrolling sideways on a phone.
import type { Page } from '@playwright/test';
import { set_scene } from '../scene/scene.ts';
import { expect, expect_accessible, forgive, test, themes, use_language, use_theme } from './fixtures.ts';
import { Server } from './server.ts';

const paths = (task: string): Record<string, string> => ({
  overview: '/',
  queue: '/queues/emails',
  tasks: '/tasks?queue=payments',
  task: `/tasks/${task}`,
  'dead letters': '/dead',
  schedules: '/schedules',
  workers: '/workers',
  events: '/events',
  'bulk operations': '/operations',
  'action log': '/actions',
  'API keys': '/keys',
  'a page that is not there': '/no/such/page',
});
const pages = Object.keys(paths(''));

let busy: Server;
let task = '';

test.beforeAll(async () => {
  busy = await new Server().start();
  task = await set_scene(busy);
});
test.afterAll(async () => {
  await busy.remove();
});

// What a page shows has come, and nothing is on its way any more.
async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('heading', { level: 1 }).or(page.getByRole('heading', { level: 2 })).first()).toBeAttached();
  await expect(page.locator('main [role=status][aria-label]')).toHaveCount(0);
}

// A task of each tone comes through the tail.
async function something_happens(page: Page): Promise<void> {
  await expect(page.locator('[data-live=live]')).toBeAttached();
  await busy.fail('reports-late', { code: 'exit_1', message: 'no' });
  const retried = await busy.put('reports-late');
  const [task] = await busy.take('reports-late');
  await busy.settle(task!, { outcome: 'failed', retryable: true, error: { message: 'later' } });
  await busy.must('POST', `/v1/tasks/${retried}/cancel`);
  await expect(page.locator('[data-event=cancelled]').first()).toBeVisible();
}

for (const theme of themes) {
  for (const name of pages) {
    test(`${name}, ${theme}`, async ({ page }) => {
      await use_theme(page, theme);
      await page.goto(busy.url + paths(task)[name]);
      await settled(page);
      if (name === 'events') await something_happens(page);
      await expect(page.locator('html')).toHaveAttribute('data-theme', theme);
      await expect_accessible(page);
    });
  }
}

for (const name of pages.filter((one) => one !== 'task' && one !== 'queue')) {
  test(`${name} with nothing to show`, async ({ page, server }) => {
    await page.goto(server.url + paths('')[name]?.split('?')[0]);
    await settled(page);
    await expect_accessible(page);
  });
}

for (const name of ['queue', 'task']) {
  test(`a ${name} that is not there`, async ({ page, server, complaints }) => {
    await page.goto(server.url + paths('01890a5d-ac96-774b-bcce-b302099a8057')[name]);
    await settled(page);
    await expect_accessible(page);
    forgive(complaints, /status of 404/);
  });
}

for (const name of pages) {
  test(`${name} fits a phone, in Russian`, async ({ page }) => {
    await page.setViewportSize({ width: 360, height: 740 });
    await use_language(page, 'ru');
    await page.goto(busy.url + paths(task)[name]);
    await settled(page);
    if (name === 'events') await something_happens(page);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(wide).toBeLessThanOrEqual(360);
    await expect_accessible(page);
  });
}

for (const theme of themes) {
  test(`a question and the help, ${theme}`, async ({ page }) => {
    await use_theme(page, theme);
    await page.goto(`${busy.url}/dead`);
    await page.getByRole('button', { name: 'Remove these 312' }).click();
    await expect(page.getByRole('dialog')).toBeVisible();
    // Pressing Enter too early destroys nothing.
    await expect(page.getByRole('button', { name: 'Cancel' })).toBeFocused();
    await expect_accessible(page);
    await page.keyboard.press('Escape');
    await expect(page.getByRole('dialog')).toHaveCount(0);
    await page.keyboard.press('?');
    await expect(page.getByRole('dialog')).toBeVisible();
    await expect_accessible(page);
  });

  test(`a policy by type in its form, ${theme}`, async ({ page }) => {
    await use_theme(page, theme);
    await page.goto(`${busy.url}/queues/emails`);
    await page.getByRole('button', { name: 'Edit receipt' }).click();
    await expect(page.getByRole('form', { name: 'Policy of receipt' })).toBeVisible();
    await settled(page);
    await expect_accessible(page);
  });

  test(`sign-in, ${theme}`, async ({ page, server }) => {
    await server.make_key('ops', ['admin']);
    await use_theme(page, theme);
    await page.goto(server.url);
    await expect(page.getByLabel('API key')).toBeVisible();
    await expect_accessible(page);
  });
}
