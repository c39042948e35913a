// Pictures of every page, in both themes and as wide as a phone, into docs/images: `./dev screenshots`.
// MILLRACE_LOOKS=all takes every page in every look, to look at after a change; MILLRACE_IMAGES says where to.
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Browser, type BrowserContext, type Page, test } from '@playwright/test';
import { Server } from '../tests/server.ts';
import { Life } from './life.ts';
import { make_keys, set_scene } from './scene.ts';

const folder = process.env.MILLRACE_IMAGES ?? '../docs/images';
const only = process.env.MILLRACE_PAGES?.split(','); // names of pages, to look at some again
const every_look = process.env.MILLRACE_LOOKS === 'all';

interface Look {
  suffix: string;
  theme: 'light' | 'dark';
  language?: 'ru';
  screen?: 'phone' | 'tablet' | 'wide';
}
const light: Look = { suffix: 'light', theme: 'light' };
const dark: Look = { suffix: 'dark', theme: 'dark' };
const phone: Look = { suffix: 'phone', theme: 'light', screen: 'phone' };
const russian: Look[] = [
  { suffix: 'ru-light', theme: 'light', language: 'ru' },
  { suffix: 'ru-dark', theme: 'dark', language: 'ru' },
];

const all: Look[] = [
  ...[light, dark, phone, ...russian],
  { suffix: 'ru-phone', theme: 'dark', language: 'ru', screen: 'phone' },
  { suffix: 'tablet', theme: 'light', screen: 'tablet' },
  { suffix: 'ru-tablet', theme: 'dark', language: 'ru', screen: 'tablet' },
  { suffix: 'wide', theme: 'dark', screen: 'wide' },
  { suffix: 'ru-wide', theme: 'light', language: 'ru', screen: 'wide' },
];
const sizes = {
  phone: { width: 360, height: 760 },
  tablet: { width: 820, height: 1180 },
  wide: { width: 1920, height: 1080 },
  usual: { width: 1280, height: 800 },
};

interface Shown {
  name: string;
  path: string;
  looks: Look[];
  before?: (page: Page) => Promise<void>;
  rest?: number; // milliseconds until it looks like something
}

const shown = (hero: string): Shown[] => [
  { name: 'overview', path: '/', looks: [light, dark, phone, ...russian], rest: 12_000 },
  { name: 'queue', path: '/queues/emails', looks: [light, dark, phone] },
  { name: 'tasks', path: '/tasks?queue=payments', looks: [light, dark, phone] },
  { name: 'task', path: `/tasks/${hero}`, looks: [light, dark, phone, ...russian] },
  {
    name: 'dead',
    path: '/dead',
    looks: [light, dark, phone, ...russian],
    before: (page) => page.locator('[data-group] .toggle').first().click(),
  },
  { name: 'schedules', path: '/schedules', looks: [light, dark, phone] },
  { name: 'workers', path: '/workers', looks: [light, dark, phone] },
  { name: 'events', path: '/events', looks: [light, dark, phone], rest: 5000 },
  { name: 'operations', path: '/operations', looks: [light, dark, phone] },
  { name: 'actions', path: '/actions', looks: [light, dark, phone] },
  { name: 'keys', path: '/keys', looks: [light, dark, phone] },
];

type Cookies = Awaited<ReturnType<BrowserContext['cookies']>>;

// Signed in once, or the action log would be full of it.
async function sign_in(browser: Browser, key: string, url: string): Promise<Cookies> {
  const context = await browser.newContext();
  await context.request.post(`${url}/v1/session`, { data: { key, path: '/' }, headers: { 'X-Requested-By': 'dashboard' } });
  const cookies = await context.cookies();
  await context.close();
  return cookies;
}

async function open(browser: Browser, look: Look, cookies: Cookies): Promise<Page> {
  const context = await browser.newContext({
    viewport: sizes[look.screen ?? 'usual'],
    deviceScaleFactor: every_look ? 1 : look.screen === 'phone' ? 2 : 1.5,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
  });
  await context.addInitScript(
    ([theme, language]) => {
      localStorage.setItem('millrace.theme', theme ?? '');
      localStorage.setItem('millrace.language', language ?? '');
    },
    [look.theme, look.language ?? 'en'],
  );
  await context.addCookies(cookies);
  return context.newPage();
}

// WebP is a third of the size of PNG; only the browser's own protocol makes it.
async function capture(page: Page, file: string): Promise<void> {
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(join(folder, file), Buffer.from(data, 'base64'));
  console.log(`${file} ${Math.round(statSync(join(folder, file)).size / 1024)} KiB`);
}

test('pictures', async ({ browser }) => {
  test.setTimeout(15 * 60_000);
  const names = [...shown('').map(({ name }) => name), 'sign-in'];
  const unknown = only?.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`there is no page ${unknown}; there are: ${names.join(', ')}`);
  mkdirSync(folder, { recursive: true });
  const server = await new Server().start();
  const admin = await server.make_key('ops', ['admin']);
  server.key = admin.secret;
  const hero = await set_scene(server);
  await make_keys(server);
  const cookies = await sign_in(browser, admin.secret, server.url);
  const life = new Life(server).start();
  try {
    for (const { name, path, looks, before, rest } of shown(hero)) {
      if (only && !only.includes(name)) continue;
      for (const look of every_look ? all : looks) {
        const page = await open(browser, look, cookies);
        await page.goto(server.url + path);
        await page.waitForTimeout(rest ?? 2000);
        await before?.(page);
        await page.mouse.move(0, 0);
        await page.waitForTimeout(400);
        await capture(page, `${name}-${look.suffix}.webp`);
        await page.context().close();
      }
    }
    for (const look of only && !only.includes('sign-in') ? [] : [light, dark, phone]) {
      const page = await open(browser, look, []);
      await page.goto(server.url);
      await page.getByLabel('API key').waitFor();
      await capture(page, `sign-in-${look.suffix}.webp`);
      await page.context().close();
    }
  } finally {
    await life.stop();
    await server.remove();
  }
});
