// The server's time, ticking once per second while the page is visible: one timer for all ages on the page.

class Clock {
  now = $state(Date.now());
  #ahead = 0; // of the server, milliseconds

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.tick();
    }, 1000);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  tick(): void {
    this.now = Date.now() + this.#ahead;
  }

  // The header Date of an answer. It has whole seconds, so less than two seconds are not a difference.
  heard(date: string | null): void {
    const said = date ? Date.parse(date) : NaN;
    if (Number.isNaN(said)) return;
    const ahead = said + 500 - Date.now();
    const offset = Math.abs(ahead) < 2000 ? 0 : ahead;
    if (Math.abs(offset - this.#ahead) < 2000 && (offset !== 0 || this.#ahead === 0)) return;
    this.#ahead = offset;
    this.tick();
  }
}

export const clock = new Clock();
