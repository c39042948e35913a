// What this browser remembers of its user: theme, language. A browser that keeps nothing is fine.

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(`millrace.${name}`);
  } catch {
    return null;
  }
}

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(`millrace.${name}`);
    else localStorage.setItem(`millrace.${name}`, value);
  } catch {
    // Private windows may refuse.
  }
}
