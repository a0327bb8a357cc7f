/** Which nodes edges lead to, one after the other. */

interface Way {
  readonly from: string;
  readonly to: string;
}

export type Targets = ReadonlyMap<string, readonly string[]>;

export function groupedTargets(edges: readonly Way[]): Targets {
  return new Map(
    Object.entries(Object.groupBy(edges, ({ from }) => from)).map(([from, all]) => [
      from,
      (all ?? []).map(({ to }) => to),
    ]),
  );
}

/** Whether one or more edges lead from one node to the other. */
export function reaches(ways: Targets, from: string, to: string): boolean {
  const seen = new Set<string>();
  const open = [...(ways.get(from) ?? [])];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (next === to) return true;
    if (seen.has(next)) continue;
    seen.add(next);
    open.push(...(ways.get(next) ?? []));
  }
  return false;
}
