/** A version of a flow with what its steps need, read once for each process: versions never change. Zones may, so they are read each time. */
import type { Database } from '../../../db/database.ts';
import type { Context } from '../../context.ts';
import { START } from '../flow/flow-parts.ts';
import { FlowGraph, type Flow } from '../flow/flow.ts';
import { KeptFlows } from './kept-flows.ts';
import type { VersionKey } from './run.ts';
import { readVersion } from './version-read-model.ts';

/** Of each process: the sum of the flows as JSON. In memory they are some times larger. */
const KEPT_MAX = { bytes: 64 * 1024 * 1024, count: 500 };

export interface LiveFlow {
  readonly key: VersionKey;
  /** Of the automation. */
  readonly uid: string;
  readonly listId: bigint;
  readonly flow: Flow;
  readonly graph: FlowGraph;
  /** Nodes to which people may come again: their passes are counted (D83). */
  readonly repeated: ReadonlySet<string>;
}

/** Of each database by itself: ids are the same in others. */
const keptOf = new WeakMap<Database, KeptFlows<LiveFlow>>();

/** Undefined: it is gone. */
export async function liveFlow(
  { db, database }: Pick<Context, 'db' | 'database'>,
  key: VersionKey,
): Promise<LiveFlow | undefined> {
  const kept = keptOf.get(database) ?? new KeptFlows<LiveFlow>(KEPT_MAX);
  keptOf.set(database, kept);
  const name = `${key.customerId} ${key.automationId} ${key.version}`;
  const known = kept.get(name);
  if (known) return known;
  const found = await readVersion(db, key);
  if (!found) return undefined;
  const live = liveFlowOf(key, found);
  kept.keep(name, live, Buffer.byteLength(JSON.stringify(found.flow)));
  return live;
}

export function liveFlowOf(
  key: VersionKey,
  { uid, listId, flow }: Pick<LiveFlow, 'uid' | 'listId' | 'flow'>,
): LiveFlow {
  const graph = new FlowGraph(flow);
  return {
    key,
    uid,
    listId,
    flow,
    graph,
    repeated: new Set(flow.nodes.filter(({ id }) => graph.reaches(id, id)).map(({ id }) => id)),
  };
}

/** The first node. */
export function firstNode({ graph }: LiveFlow) {
  return graph.next(START);
}
