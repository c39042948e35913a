// What a chart draws. Apart from it, since the chart itself is loaded when there is something to draw.

// Lines that stand for names of others, such as types, have colours without a meaning.
export const series_tones = ['series-1', 'series-2', 'series-3', 'series-4', 'series-5'] as const;
export type Tone = 'queued' | 'processing' | 'retrying' | 'failed' | (typeof series_tones)[number] | 'series-rest';

export interface Line {
  name: string;
  values: readonly (number | null)[]; // null: there is none
  tone: Tone;
  fill?: boolean;
  dashed?: boolean;
}

export type Zoom = readonly [from: number, until: number]; // milliseconds
