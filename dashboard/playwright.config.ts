import { defineConfig } from '@playwright/test';

// Against the real program, in the browser that Debian has, without its windows. ctest runs each file as a test of its own.
// MILLRACE_TRACE=1 keeps a trace of each test that fails; recording one takes a fifth of the time.
export default defineConfig({
  testDir: 'tests',
  outputDir: process.env.MILLRACE_DASHBOARD_RESULTS ?? 'test-results',
  workers: 1,
  timeout: 30_000,
  expect: { timeout: 10_000 },
  forbidOnly: true,
  reporter: [['line']],
  use: {
    browserName: 'chromium',
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    viewport: { width: 1280, height: 800 },
    trace: process.env.MILLRACE_TRACE ? 'retain-on-failure' : 'off',
    screenshot: 'only-on-failure',
    launchOptions: {
      executablePath: process.env.MILLRACE_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
      args: [
        ...['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--disable-quic', '--no-first-run'],
        ...['--disable-background-networking', '--disable-component-update', '--disable-sync', '--no-proxy-server'],
      ],
    },
  },
});
