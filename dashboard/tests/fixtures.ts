// `test` with a server of its own, and a page that must not complain: no errors in its console, nothing
// that its policy forbids, no request to another host.
import { AxeBuilder } from '@axe-core/playwright';
import { expect, type Page, test as plain } from '@playwright/test';
import { Server } from './server.ts';

interface Fixtures {
  flags: string[]; // for `millrace serve`: test.use({ flags: ['--alerts-enabled', 'true'] })
  server: Server;
  complaints: string[]; // of the page; a test that expects some takes them out
}

export const test = plain.extend<Fixtures>({
  flags: [[], { option: true }],
  server: async ({ flags }, use) => {
    const server = await new Server(flags).start();
    await use(server);
    await server.remove();
  },
  complaints: async ({}, use) => {
    await use([]);
  },
  // With the server, so that it ends before it: a page whose server is gone complains.
  page: async ({ page, server, complaints }, use) => {
    void server;
    page.on('console', (message) => {
      if (message.type() === 'error' || message.type() === 'warning') complaints.push(`${message.text()} ${message.location().url}`.trim());
    });
    page.on('pageerror', (error) => complaints.push(`thrown: ${error.message}`));
    page.on('request', (request) => {
      const host = new URL(request.url()).hostname;
      if (host !== '127.0.0.1' && !request.url().startsWith('data:')) complaints.push(`asked ${request.url()}`);
    });
    await use(page);
    expect(complaints).toEqual([]);
  },
});

// What the browser says of answers that are not 200; a test that provokes them leaves these out.
export function forgive(complaints: string[], pattern: RegExp): void {
  const rest = complaints.filter((complaint) => !pattern.test(complaint));
  complaints.splice(0, complaints.length, ...rest);
}

// What it says while a server is away, stops or starts.
export const absence = /ERR_CONNECTION|ERR_INCOMPLETE|ERR_EMPTY|ERR_SOCKET|status of 503/;

// No violation of WCAG 2.1 A and AA on what is shown.
export async function expect_accessible(page: Page): Promise<void> {
  const found = await new AxeBuilder({ page }).withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']).analyze();
  const told = found.violations.map((one) => `${one.id}: ${one.help} (${one.nodes.map((node) => node.target.join(' ')).join(' | ')})`);
  expect(told).toEqual([]);
}

export const themes = ['light', 'dark'] as const;

export async function use_theme(page: Page, theme: (typeof themes)[number]): Promise<void> {
  await page.addInitScript((name) => localStorage.setItem('millrace.theme', name), theme);
}

export async function use_language(page: Page, language: 'en' | 'ru'): Promise<void> {
  await page.addInitScript((name) => localStorage.setItem('millrace.language', name), language);
}

export { expect };
