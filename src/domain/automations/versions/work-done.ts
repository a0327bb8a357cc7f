/** What was done for people in any version of their flow (D84), by their history. Waits, and questions about the person, are no work. */
import type { TransactionContext } from '../../context.ts';
import type { FlowNode, NodeType } from '../flow/flow-nodes.ts';
import { liveFlow } from '../runs/live-flow.ts';
import type { Run, VersionKey } from '../runs/run.ts';
import { passedNodes } from './version-move-store.ts';

/** Others notice their work. */
const ACTING: ReadonlySet<NodeType> = new Set([
  ...(['send_mail', 'notify', 'webhook', 'api_call', 'start_flow'] as const),
  ...(['add_tag', 'remove_tag', 'set_field', 'copy_to_list', 'move_to_list', 'unsubscribe'] as const),
]);

/** The nodes whose work was done for each run, as their versions had them; of several versions a node may be there several times. */
export async function workDone(
  ctx: TransactionContext,
  key: Omit<VersionKey, 'version'>,
  runs: readonly Pick<Run, 'id' | 'personId'>[],
): Promise<ReadonlyMap<bigint, readonly FlowNode[]>> {
  const worked = new Map<bigint, readonly FlowNode[]>();
  for (const { runId, version, nodes } of await passedNodes(ctx.db, key, runs)) {
    const live = await liveFlow(ctx, { ...key, version });
    const found = nodes.flatMap((id) => live?.graph.nodes.get(id) ?? []).filter(({ type }) => ACTING.has(type));
    worked.set(runId, [...(worked.get(runId) ?? []), ...found]);
  }
  return worked;
}
