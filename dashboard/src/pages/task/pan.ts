// What is larger than its view is dragged with the mouse. A finger scrolls by itself, the keyboard by the focus.
export function pan(view: HTMLElement): () => void {
  let from: { x: number; y: number; left: number; top: number } | null = null;
  let moved = false;

  const down = (event: PointerEvent) => {
    if (event.pointerType !== 'mouse' || event.button !== 0) return;
    from = { x: event.clientX, y: event.clientY, left: view.scrollLeft, top: view.scrollTop };
    moved = false;
  };
  const move = (event: PointerEvent) => {
    if (!from) return;
    const [x, y] = [event.clientX - from.x, event.clientY - from.y];
    if (!moved && Math.hypot(x, y) < 5) return;
    moved = true;
    view.classList.add('panned');
    view.scrollTo(from.left - x, from.top - y);
  };
  const up = () => {
    from = null;
    view.classList.remove('panned');
  };
  // A link that was dragged is not followed.
  const click = (event: MouseEvent) => {
    if (!moved) return;
    event.preventDefault();
    event.stopPropagation();
    moved = false;
  };

  view.addEventListener('pointerdown', down);
  view.addEventListener('click', click, true);
  window.addEventListener('pointermove', move);
  window.addEventListener('pointerup', up);
  window.addEventListener('blur', up);
  return () => {
    view.removeEventListener('pointerdown', down);
    view.removeEventListener('click', click, true);
    window.removeEventListener('pointermove', move);
    window.removeEventListener('pointerup', up);
    window.removeEventListener('blur', up);
  };
}
