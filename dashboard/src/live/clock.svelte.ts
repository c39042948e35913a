// The server's time, ticking once per second while the page is visible: one timer for all ages on the page.
// While no server answers, `now` stands still: what is shown is as of then, and would seem to wait and to run on.

class Clock {
  now = $state(Date.now());
  always = $state(Date.now()); // goes on: for how old that is which is shown
  #ahead = 0; // of the server, milliseconds
  #answered = true; // the last request

  constructor() {
    setInterval(() => {
      if (!document.hidden) this.tick();
    }, 1000);
    document.addEventListener('visibilitychange', () => this.tick());
  }

  tick(): void {
    this.always = Date.now() + this.#ahead;
    if (this.#answered) this.now = this.always;
  }

  // No server answered.
  lost(): void {
    this.#answered = false;
  }

  // The header Date of an answer. It has whole seconds, so less than two seconds are not a difference.
  heard(date: string | null): void {
    if (!this.#answered) {
      this.#answered = true;
      this.tick();
    }
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
