// Keyboard shortcuts. Letters do nothing while the user types.
//
//   $effect(() => keys({ j: next, k: previous, Enter: open }));

type Bindings = Record<string, (event: KeyboardEvent) => void>;

const stack: Bindings[] = [];
let before = ''; // `g`, for a moment
let timer = 0;

function typing(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName);
}

function pressed(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
  if (document.querySelector('dialog[open]') !== null) return;
  if (typing(event.target) && event.key !== 'Escape') return;
  // A button that has focus is pressed by these.
  const on_control = event.target instanceof HTMLElement && event.target.closest('button, a, summary') !== null;
  if (on_control && (event.key === 'Enter' || event.key === ' ')) return;
  const name = before ? `${before} ${event.key}` : event.key;
  before = '';
  for (const bindings of [...stack].reverse()) {
    const found = bindings[name];
    if (!found) continue;
    event.preventDefault();
    return found(event);
  }
  if (event.key !== 'g') return;
  before = 'g';
  clearTimeout(timer);
  timer = window.setTimeout(() => (before = ''), 1500);
}

addEventListener('keydown', pressed);

// Those bound last come first. Returns what takes them back.
export function keys(bindings: Bindings): () => void {
  stack.push(bindings);
  return () => void stack.splice(stack.indexOf(bindings), 1);
}
