// What is said in passing.
import type { Locator, Page } from '@playwright/test';
import { expect, test } from './fixtures.ts';

const rows = (page: Page) => page.locator('tbody tr[data-task]');

test.describe('what is said in passing covers nothing', () => {
  const toast = (page: Page) => page.locator('.toast');
  async function box(of: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
    return (await of.boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
  }

  test('on a wide screen', async ({ page, server }) => {
    await server.put_many('emails', 60);
    await page.goto(`${server.url}/tasks`);
    await rows(page).first().getByRole('checkbox').check();
    await page.locator('[data-action=remove]').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
    await expect(toast(page)).toBeVisible();
    await expect(toast(page)).toBeInViewport();
    const [said, main] = [await box(toast(page)), await box(page.getByRole('main'))];
    expect(said.x + said.width).toBeLessThanOrEqual(main.x);
  });

  test('on a narrow one, where bars at the bottom make room', async ({ page, server }) => {
    await page.setViewportSize({ width: 390, height: 800 });
    await server.put_many('emails', 60);
    await page.goto(`${server.url}/tasks`);
    await rows(page).first().getByRole('checkbox').check();
    await page.locator('[data-action=priority]').click();
    await page.getByRole('dialog').getByRole('button', { name: 'Change priority' }).click();
    await expect(toast(page)).toBeVisible();
    await rows(page).first().getByRole('checkbox').check();
    const [said, bar] = [await box(toast(page)), await box(page.getByRole('region', { name: '1 selected' }))];
    expect(bar.y + bar.height).toBeLessThanOrEqual(said.y);
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
    const paging = await box(page.getByRole('button', { name: 'Older' }));
    expect(paging.y + paging.height).toBeLessThanOrEqual((await box(toast(page))).y);
  });
});
