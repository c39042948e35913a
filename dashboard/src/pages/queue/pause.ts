// How long something is paused; neither: until it is resumed.
export interface Pause {
  for_ms?: number;
  until?: string;
}
