// What stands in front of a server in many places: a proxy that shows it under a path.
import { createServer, request, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';

interface Options {
  strip?: boolean; // takes its own path off, as `proxy_pass http://…/` does
  host?: string; // what it says as Host; its default is the server's own
  headers?: Record<string, string>;
}

export class Proxy {
  #server: HttpServer | null = null;

  constructor(
    readonly to: string,
    readonly path: string,
    readonly options: Options = {},
  ) {}

  async start(): Promise<this> {
    const target = new URL(this.to);
    this.#server = createServer((asked, answer) => {
      const at = asked.url ?? '/';
      if (!at.startsWith(this.path)) return void answer.writeHead(404).end('not here');
      const path = this.options.strip === false ? at : at.slice(this.path.length) || '/';
      const headers = { ...asked.headers, host: this.options.host ?? target.host, ...this.options.headers };
      const passed = request({ host: target.hostname, port: target.port, path, method: asked.method, headers }, (from) => {
        answer.writeHead(from.statusCode ?? 502, from.headers);
        from.pipe(answer);
      });
      passed.on('error', () => answer.destroy());
      answer.on('close', () => passed.destroy());
      asked.pipe(passed);
    });
    await new Promise<void>((done) => this.#server?.listen(0, '127.0.0.1', done));
    return this;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server?.address() as AddressInfo).port}${this.path}`;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((done) => this.#server?.close(done));
  }
}
