/** Nodes that copy or move people to another list (D98). Who cannot be copied is a fault of the node (D87), whatever kept them. */
import { copyPeople } from '../../audience/copy-people.ts';
import { failed, NEXT, type NodeWork, type Outcome } from './node-work.ts';

export async function copyToList(work: NodeWork<'copy_to_list' | 'move_to_list'>): Promise<readonly Outcome[]> {
  const { ctx, live, node, runs, now } = work;
  const refused = await copyPeople(ctx, {
    ...{ customerId: live.key.customerId, listId: live.listId, ids: runs.map(({ personId }) => personId) },
    ...{ toListUid: node.listUid, onConflict: node.onConflict, isMove: node.type === 'move_to_list', now },
    depths: new Map(runs.map(({ personId, depth }) => [personId, depth + 1])),
  });
  return runs.map(({ personId }) => {
    const why = refused.get(personId);
    return why === undefined ? NEXT : failed(work, why);
  });
}
