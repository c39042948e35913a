// Whether a moment was begun to be typed: until it is complete its input is empty to all but the browser.
export const half_typed = (form: EventTarget | null): boolean =>
  form instanceof HTMLFormElement && [...form.querySelectorAll('input')].some((input) => input.validity.badInput);
