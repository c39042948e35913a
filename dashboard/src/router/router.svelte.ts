// The address: which page is shown and with which filters. Reading `path`, `query` and `place` is reactive.
import { link, path_in } from './base';
import { type Place, place_of } from './routes';

class Router {
  path = $state('/');
  query = $state.raw(new URLSearchParams());
  readonly place = $derived<Place>(place_of(this.path));
  #moved = new Set<() => void>();

  constructor() {
    this.#read();
    addEventListener('popstate', () => this.#read());
    document.addEventListener('click', (event) => this.#clicked(event));
  }

  // To another page, or the same with another query: router.go('/tasks?queue=emails').
  go(to: string, how: 'push' | 'replace' = 'push'): void {
    const address = new URL(link(to), location.origin);
    if (address.href === location.href) return;
    if (how === 'push') history.pushState(null, '', address);
    else history.replaceState(null, '', address);
    this.#read();
    if (how === 'push') scrollTo(0, 0);
    for (const tell of this.#moved) tell();
  }

  // Changes some parameters of the query and leaves the others; null or '' takes one out. Filters live
  // here, so that an address can be passed on.
  set(changes: Record<string, string | null>, how: 'push' | 'replace' = 'replace'): void {
    const query = new URLSearchParams(this.query);
    for (const [name, value] of Object.entries(changes)) {
      if (value === null || value === '') query.delete(name);
      else query.set(name, value);
    }
    const text = query.toString();
    this.go(this.path + (text ? `?${text}` : ''), how);
  }

  get(name: string): string {
    return this.query.get(name) ?? '';
  }

  // Calls back after each move that was not a popstate, for the code that keeps the focus.
  on_move(tell: () => void): () => void {
    this.#moved.add(tell);
    return () => this.#moved.delete(tell);
  }

  #read(): void {
    this.path = path_in(new URL(location.href)) ?? '/';
    this.query = new URLSearchParams(location.search);
  }

  // Plain links within the page do not load it anew; new tabs and downloads are left to the browser.
  #clicked(event: MouseEvent): void {
    if (event.defaultPrevented || event.button !== 0) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const anchor = event.target instanceof Element ? event.target.closest('a') : null;
    if (!anchor || anchor.target || anchor.hasAttribute('download') || !anchor.href) return;
    const address = new URL(anchor.href);
    const path = path_in(address);
    if (path === null || path.startsWith('/v1/')) return;
    event.preventDefault();
    this.go(path + address.search);
  }
}

export const router = new Router();
