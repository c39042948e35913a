// Where the focus goes when what had it has gone, for those who work by keyboard:
//   <Button {@attach places.at('edit')}>   places.go('edit')
import type { Attachment } from 'svelte/attachments';

export class Places {
  readonly #there = new Map<string, HTMLElement>();
  #awaited: string | null = null;

  at(place: string): Attachment<HTMLElement> {
    return (element) => {
      this.#there.set(place, element);
      if (this.#awaited === place) this.go(place);
      return () => this.#there.delete(place);
    };
  }

  // Now, or as soon as it is there.
  go(place: string): void {
    const element = this.#there.get(place);
    this.#awaited = element ? null : place;
    element?.focus();
  }
}
