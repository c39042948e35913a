// Where the tasks of a graph are drawn. Layers go from what came first to what comes last; the task that the page is
// about is in layer 0, and every other one as far from it as the longest way between them.
import type { Graph, GraphTask } from '../../api/types';

export interface Box {
  id: string;
  task: GraphTask | null; // null: it stands for those that are left out
  more: { of: 'parents' | 'children'; count: number } | null;
  layer: number;
  across: number; // the middle of it, from the beginning of its layer
  along: number;
}
export interface Line {
  from: string;
  to: string;
  waits: boolean;
  points: readonly { along: number; across: number }[]; // one per layer
}
export interface Layout {
  boxes: Box[]; // layer by layer, each from its beginning
  lines: Line[];
  along: number; // how long and how wide all of it is
  across: number;
}
// Of a box and of what is between two; `along` leads from layer to layer.
export interface Sizes {
  along: number;
  across: number;
  gap_along: number;
  gap_across: number;
}

interface Place {
  id: string;
  box: boolean; // otherwise a line passes here
  layer: number;
  before: Place[];
  after: Place[];
  at: number; // its middle
}

export const more_id = (of: 'parents' | 'children'): string => `more ${of}`;
const bent_lines = 300; // with more of them, lines go straight from end to end

function longest_ways(from: string, next: ReadonlyMap<string, readonly string[]>): Map<string, number> {
  const ways = new Map([[from, 0]]);
  // Each round goes one edge further; a cycle, which no server has, ends with the rounds.
  let changed = true;
  for (let rounds = 0; changed && rounds <= next.size; ++rounds) {
    changed = false;
    for (const [id, way] of [...ways]) {
      for (const other of next.get(id) ?? []) {
        if ((ways.get(other) ?? -1) > way) continue;
        ways.set(other, way + 1);
        changed = true;
      }
    }
  }
  return ways;
}

function layers_of(self: string, edges: readonly { from: string; to: string }[]): Map<string, number> {
  const up = new Map<string, string[]>();
  const down = new Map<string, string[]>();
  for (const { from, to } of edges) {
    up.set(to, [...(up.get(to) ?? []), from]);
    down.set(from, [...(down.get(from) ?? []), to]);
  }
  const layers = longest_ways(self, down);
  for (const [id, way] of longest_ways(self, up)) if (id !== self) layers.set(id, -way);
  return layers;
}

const middle = (places: readonly Place[], otherwise: number): number =>
  places.length === 0 ? otherwise : places.reduce((sum, one) => sum + one.at, 0) / places.length;

// Places of a layer in order, one behind the other, and the layer centred on 0.
function settle(layer: Place[], sizes: Sizes): void {
  const size = (one: Place) => (one.box ? sizes.across : 0) + sizes.gap_across;
  let at = -layer.reduce((sum, one) => sum + size(one), 0) / 2;
  for (const one of layer) {
    one.at = at + size(one) / 2;
    at += size(one);
  }
}

// Few crossings: everything goes to the middle of what it is connected with, there and back a few times.
function order(layers: Place[][], sizes: Sizes): void {
  for (const layer of layers) settle(layer, sizes);
  const by = (side: 'before' | 'after') => (layer: Place[]) => {
    const wanted = new Map(layer.map((one) => [one, middle(one[side], one.at)]));
    layer.sort((a, b) => (wanted.get(a) ?? 0) - (wanted.get(b) ?? 0));
    settle(layer, sizes);
  };
  for (let turn = 0; turn < 4; ++turn) {
    layers.forEach(by('before'));
    [...layers].reverse().forEach(by('after'));
  }
}

export function layout_of(graph: Graph, sizes: Sizes): Layout {
  const self = graph.tasks[0];
  if (!self) return { boxes: [], lines: [], along: 0, across: 0 };
  const edges = graph.edges.map((edge) => ({ ...edge }));
  const extra: { id: string; of: 'parents' | 'children'; count: number }[] = [];
  if (self.more_parents) {
    const id = more_id('parents');
    extra.push({ id, of: 'parents', count: self.more_parents });
    const drawn = graph.edges.filter(({ to, waits }) => to === self.id && waits).length;
    edges.push({ from: id, to: self.id, waits: (self.waits_for ?? 0) > drawn });
  }
  if (self.more_children) {
    const id = more_id('children');
    extra.push({ id, of: 'children', count: self.more_children });
    edges.push({ from: self.id, to: id, waits: true });
  }
  const layer_by_id = layers_of(self.id, edges);
  const first = Math.min(...layer_by_id.values());
  const layers: Place[][] = [];
  const add = (id: string, box: boolean, layer: number): Place => {
    const place: Place = { id, box, layer, before: [], after: [], at: 0 };
    (layers[layer - first] ??= []).push(place);
    return place;
  };
  const ids = [...graph.tasks.map((task) => task.id), ...extra.map(({ id }) => id)];
  const places = new Map(ids.filter((id) => layer_by_id.has(id)).map((id) => [id, add(id, true, layer_by_id.get(id) ?? 0)]));
  const bent = edges.length <= bent_lines;
  const ways: { edge: (typeof edges)[number]; places: Place[] }[] = [];
  for (const edge of edges) {
    const [from, to] = [places.get(edge.from), places.get(edge.to)];
    if (!from || !to) continue;
    const way = [from];
    for (let layer = from.layer + 1; bent && layer < to.layer; ++layer) way.push(add('', false, layer));
    way.push(to);
    way.slice(1).forEach((place, i) => {
      const before = way[i] as Place;
      before.after.push(place);
      place.before.push(before);
    });
    ways.push({ edge, places: way });
  }
  order(layers, sizes);
  const least = Math.min(...layers.flat().map((one) => one.at)) - sizes.across / 2;
  const most = Math.max(...layers.flat().map((one) => one.at)) + sizes.across / 2;
  const along = (layer: number) => (layer - first) * (sizes.along + sizes.gap_along) + sizes.along / 2;
  const tasks = new Map(graph.tasks.map((task) => [task.id, task]));
  const boxes = layers.flat().flatMap((place): Box[] => {
    if (!place.box) return [];
    const left_out = extra.find(({ id }) => id === place.id);
    const more = left_out ? { of: left_out.of, count: left_out.count } : null;
    return [{ id: place.id, task: tasks.get(place.id) ?? null, more, layer: place.layer, across: place.at - least, along: along(place.layer) }];
  });
  const lines = ways.map(({ edge, places: way }) => ({
    ...edge,
    points: way.map((place) => ({ along: along(place.layer), across: place.at - least })),
  }));
  return { boxes, lines, along: layers.length * (sizes.along + sizes.gap_along) - sizes.gap_along, across: most - least };
}
