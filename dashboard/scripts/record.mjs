// What the overview asks of a server in its first seconds, as lines for `./dev bench dashboard`:
//   milliseconds <tab> document|asset|api|stream <tab> bytes that came <tab> Accept <tab> target
// node scripts/record.mjs http://127.0.0.1:7070 30
import { chromium } from 'playwright-core';
import { setTimeout as rest } from 'node:timers/promises';

const [url = 'http://127.0.0.1:7070', seconds = '30'] = process.argv.slice(2);
const browser = await chromium.launch({
  executablePath: process.env.MILLRACE_CHROMIUM ?? '/usr/bin/chromium-headless-shell',
  args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-proxy-server', '--disable-background-networking'],
});
const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
const network = await page.context().newCDPSession(page);
await network.send('Network.enable');

const asked = new Map();
let began = 0;
const kind_of = (path, type) =>
  type === 'Document' ? 'document' : path.startsWith('/assets/') ? 'asset' : path.startsWith('/v1/events') ? 'stream' : 'api';
network.on('Network.requestWillBeSent', ({ requestId, request, timestamp, type }) => {
  const { pathname, search, protocol } = new URL(request.url);
  if (!protocol.startsWith('http')) return;
  began ||= timestamp;
  const accept = type === 'Document' ? 'text/html' : (request.headers.Accept ?? '*/*'); // the former is added later
  asked.set(requestId, { at: (timestamp - began) * 1000, kind: kind_of(pathname, type), bytes: 0, accept, target: pathname + search });
});
network.on('Network.loadingFinished', ({ requestId, encodedDataLength }) => {
  const one = asked.get(requestId);
  if (one) one.bytes = encodedDataLength;
});

await page.goto(url);
await rest(Number(seconds) * 1000);
await browser.close();
for (const { at, kind, bytes, accept, target } of asked.values()) {
  console.log([at.toFixed(), kind, bytes, accept, target].join('\t'));
}
