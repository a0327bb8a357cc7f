/**
 * Places the nodes of a flow in rows, from top to bottom: a row for each step, those of one row side by side in the order of the ways that lead to them.
 * The same flow has the same places always.
 */
export interface Way {
  readonly from: string;
  readonly port: string;
  readonly to: string;
}

export interface Placed {
  readonly id: string;
  readonly row: number;
  /** The middle, in columns. */
  readonly column: number;
}

export interface Layout {
  readonly places: ReadonlyMap<string, Placed>;
  /** By the way: a place in each row that it passes. */
  readonly bends: ReadonlyMap<Way, readonly Placed[]>;
  readonly rows: number;
  readonly columns: number;
}

const SWEEPS = 8;
/** How much room a way takes that passes a row, compared with a node. */
const BEND_WIDTH = 0.35;

/** `ids`: in the order in which they stand in the flow, the start first. Ways that lead back are not in `bends`. */
export function layoutOf(ids: readonly string[], ways: readonly Way[]): Layout {
  const forward = ways.filter((way) => !leadsBack(ways, way));
  const rowOf = rowsOf(ids, forward);
  const bends = new Map<Way, readonly Placed[]>();
  const items: Item[] = ids.map((id) => ({ id, row: rowOf.get(id) ?? 0, width: 1, above: [] }));
  const byId = new Map(items.map((item) => [item.id, item]));
  const chains = new Map<Way, readonly Item[]>();
  for (const way of forward) {
    const [from, to] = [byId.get(way.from), byId.get(way.to)];
    if (!from || !to) continue;
    let above = from;
    const chain: Item[] = [];
    for (let row = from.row + 1; row < to.row; row++) {
      const item: Item = { id: `${way.from} ${way.port} ${row}`, row, width: BEND_WIDTH, above: [above] };
      chain.push(item);
      above = item;
    }
    to.above.push(above);
    chains.set(way, chain);
    items.push(...chain);
  }
  const placed = columnsOf(items);
  for (const [way, chain] of chains)
    bends.set(
      way,
      chain.flatMap((item) => placed.get(item.id) ?? []),
    );
  const all = [...placed.values()];
  return {
    ...{ places: new Map(ids.flatMap((id) => entryOf(placed, id))), bends },
    rows: Math.max(...all.map(({ row }) => row)) + 1,
    columns: Math.max(...all.map(({ column }) => column)) + 1,
  };
}

interface Item {
  readonly id: string;
  readonly row: number;
  readonly width: number;
  readonly above: Item[];
}

function entryOf(placed: ReadonlyMap<string, Placed>, id: string): [string, Placed][] {
  const place = placed.get(id);
  return place ? [[id, place]] : [];
}

/** Whether the way closes a circle: its beginning is reached from its end by ways that stand before it. */
function leadsBack(ways: readonly Way[], way: Way): boolean {
  const before = ways.slice(0, ways.indexOf(way));
  const seen = new Set<string>();
  const open = [way.to];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === way.from) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    for (const { from, to } of before) if (from === next) open.push(to);
  }
  return false;
}

/** The longest way from the start to each node. */
function rowsOf(ids: readonly string[], ways: readonly Way[]): ReadonlyMap<string, number> {
  const rows = new Map(ids.map((id) => [id, 0]));
  for (let pass = 0; pass < ids.length; pass++) {
    let isDone = true;
    for (const { from, to } of ways) {
      const row = (rows.get(from) ?? 0) + 1;
      if ((rows.get(to) ?? 0) >= row) continue;
      rows.set(to, row);
      isDone = false;
    }
    if (isDone) break;
  }
  return rows;
}

/** Rows from top to bottom: each item below the middle of what leads to it, as far as those beside it leave room. */
function columnsOf(items: readonly Item[]): ReadonlyMap<string, Placed> {
  const rows = Map.groupBy(items, ({ row }) => row);
  const columns = new Map<string, number>();
  for (let sweep = 0; sweep < SWEEPS; sweep++) {
    for (const [, inRow] of [...rows].toSorted(([a], [b]) => a - b)) {
      const wanted = inRow.map((item, no) => ({ item, no, at: middle(item, columns) }));
      const ordered = wanted.toSorted((a, b) => a.at - b.at || a.no - b.no);
      spread(ordered, columns);
    }
  }
  const first = Math.min(...columns.values());
  return new Map(items.map(({ id, row }) => [id, { id, row, column: (columns.get(id) ?? 0) - first }]));
}

function middle({ above }: Item, columns: ReadonlyMap<string, number>): number {
  const all = above.map(({ id }) => columns.get(id) ?? 0);
  return all.length === 0 ? 0 : all.reduce((sum, one) => sum + one, 0) / all.length;
}

interface Wanted {
  readonly item: Item;
  readonly at: number;
}

/** Side by side without touching, and in the middle of where they want to be. */
function spread(ordered: readonly Wanted[], columns: Map<string, number>): void {
  const places: number[] = [];
  for (const [no, { item, at }] of ordered.entries()) {
    const left = ordered[no - 1];
    const least = left === undefined ? at : (places[no - 1] ?? 0) + (left.item.width + item.width) / 2;
    places.push(Math.max(at, least));
  }
  const shift = ordered.reduce((sum, { at }, no) => sum + ((places[no] ?? 0) - at), 0) / ordered.length;
  for (const [no, { item }] of ordered.entries()) columns.set(item.id, (places[no] ?? 0) - shift);
}
