/** Whose turn it is (D89): customers go round, of each customer its flows, of each flow its nodes; a turn is one batch. */
import type { NodeKey, DueNode } from '../runs/run.ts';

type Flows = Map<bigint, DueNode[]>;

export class RoundRobin {
  /** In the order of their turns: whoever had one goes to the end. */
  readonly #customers = new Map<bigint, Flows>();
  readonly #known = new Set<string>();

  /** Nodes that wait for a turn already keep their place. */
  add(nodes: readonly NodeKey[]): void {
    for (const key of nodes) if (!this.#known.has(nameOf(key))) this.again({ key });
  }

  /** One more turn for this node, after the others. */
  again(due: DueNode): void {
    const { customerId, automationId } = due.key;
    this.#known.add(nameOf(due.key));
    const flows = this.#customers.get(customerId) ?? new Map<bigint, DueNode[]>();
    this.#customers.set(customerId, flows);
    const nodes = flows.get(automationId);
    if (nodes) nodes.push(due);
    else flows.set(automationId, [due]);
  }

  /** Nobody waits for a turn. */
  isEmpty(): boolean {
    return this.#customers.size === 0;
  }

  next(): DueNode | undefined {
    const [customer] = this.#customers;
    if (!customer) return undefined;
    const [customerId, flows] = customer;
    const [flow] = flows;
    const due = flow?.[1].shift();
    if (!flow || !due) throw new Error('A customer waits for a turn without a node.');
    moveToEnd(flows, flow[0], flow[1].length === 0);
    moveToEnd(this.#customers, customerId, flows.size === 0);
    this.#known.delete(nameOf(due.key));
    return due;
  }
}

function moveToEnd<Key, Value>(all: Map<Key, Value>, key: Key, isEmpty: boolean): void {
  const value = all.get(key);
  all.delete(key);
  if (!isEmpty && value !== undefined) all.set(key, value);
}

function nameOf({ automationId, version, node }: NodeKey): string {
  return `${automationId} ${version} ${node}`;
}
