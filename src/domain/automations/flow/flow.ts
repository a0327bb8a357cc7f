/**
 * A flow: a graph as data (D92). Nodes have stable ids, edges begin at named ports, the layout of an editor stands beside it. This file
 * has its shape and limits; whether it makes sense as a whole is checked in check-flow.ts, what it refers to in flow-references.ts.
 */
import { z } from 'zod';
import { calendarDay, nodeId, START } from './flow-parts.ts';
import { groupedTargets, reaches, type Targets } from './flow-ways.ts';
import { node, wayOut, type FlowNode } from './flow-nodes.ts';
import { entry, trigger } from './flow-triggers.ts';

export const FLOW_NODES_MAX = 200;
const EDGES_MAX = 500;
const TRIGGERS_MAX = 10;
const WAYS_OUT_MAX = 10;
const HOLIDAYS_MAX = 400;
const PORT_MAX = 40;
/** How often a person may come through the same node (D83). */
export const PASSES_MAX = 10;
/** It is read for each version that people are in, and copied on publishing. */
export const FLOW_BYTES_MAX = 256 * 1024;

const edge = z.strictObject({
  from: z.union([z.literal(START), nodeId]),
  port: z.string().max(PORT_MAX).default('next'),
  to: nodeId,
});

const place = z.strictObject({ x: z.number(), y: z.number() });

export const flowShape = {
  triggers: z.array(trigger).max(TRIGGERS_MAX),
  entry: entry.default({ mode: 'once' }),
  nodes: z.array(node).max(FLOW_NODES_MAX),
  edges: z.array(edge).max(EDGES_MAX),
  /** Who reaches a goal leaves with that reason, and is counted. */
  goals: z.array(wayOut).max(WAYS_OUT_MAX).default([]),
  exits: z.array(wayOut).max(WAYS_OUT_MAX).default([]),
  holidays: z.array(calendarDay).max(HOLIDAYS_MAX).default([]),
  passesMax: z.int().min(1).max(PASSES_MAX).default(PASSES_MAX),
  layout: z.record(z.string().max(PORT_MAX), place).default({}),
};
export const flow = z.strictObject(flowShape);
export type Flow = z.output<typeof flow>;

/** The nodes of a flow by their ids, and where each port leads. */
export class FlowGraph {
  readonly nodes: ReadonlyMap<string, FlowNode>;
  readonly #targets: ReadonlyMap<string, string>;
  readonly #ways: Targets;

  constructor({ nodes, edges }: Pick<Flow, 'nodes' | 'edges'>) {
    this.nodes = new Map(nodes.map((one) => [one.id, one]));
    this.#targets = new Map(edges.map(({ from, port, to }) => [`${from} ${port}`, to]));
    this.#ways = groupedTargets(edges);
  }

  /** Whether one or more edges lead from one node to the other. */
  reaches(from: string, to: string): boolean {
    return reaches(this.#ways, from, to);
  }

  /** The node that an edge from this port leads to; undefined: none, which ends the flow. */
  next(from: string, port = 'next'): FlowNode | undefined {
    const id = this.#targets.get(`${from} ${port}`);
    return id === undefined ? undefined : this.nodes.get(id);
  }
}
