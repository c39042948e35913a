// Where the page lives: `/`, or `/admin/queues/` behind a proxy. The server writes it into <base>.
export const base = new URL(document.baseURI);

// It is relative to the address, and the address will change.
document.querySelector('base')?.setAttribute('href', base.href);

// The address of something of this server: url('v1/stats').
export const url = (relative: string): URL => new URL(relative, base);

// What an <a href> needs to lead to a path of the page: link('/tasks?queue=emails').
export const link = (path: string): string => base.pathname + path.replace(/^\//, '');

// The path of the page in an address; null: it leads elsewhere.
export function path_in(address: URL): string | null {
  if (address.origin !== base.origin) return null;
  if (`${address.pathname}/` === base.pathname) return '/';
  if (!address.pathname.startsWith(base.pathname)) return null;
  return `/${address.pathname.slice(base.pathname.length)}`;
}
