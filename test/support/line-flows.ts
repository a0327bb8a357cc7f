/** Short flows of nodes one after the other. */
interface Node {
  readonly id: string;
  readonly [key: string]: unknown;
}

export const triggers = [{ type: 'execute' }];
export const stop = { id: 'stop', type: 'end' };

/** An edge from each to the next. */
export function line(...ids: readonly string[]) {
  return ids.slice(1).map((to, no) => ({ from: ids[no] ?? '', to }));
}

export function wait(id: string, days: number) {
  return { id, type: 'wait', for: { days } };
}

/** Adds a tag of that name. */
export function tag(id: string) {
  return { id, type: 'add_tag', tag: id };
}

export function lineFlow(...nodes: readonly Node[]) {
  return { triggers, nodes, edges: line('start', ...nodes.map(({ id }) => id)) };
}
