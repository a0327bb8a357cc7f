/** What publishing the draft with these moves would do to the people inside, node by node (D84). Changes nothing. */
import { inTransaction, type Context } from '../../context.ts';
import { checkDraft } from '../flow/check-automation.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { checkMoves } from './checked-moves.ts';
import { judgeMoves, type JudgedMoves } from './occupied-nodes.ts';

/** Of several versions. The faults are of all. */
const NODES_SHOWN_MAX = 1_000;

export interface PreviewedMoves extends JudgedMoves {
  readonly draftVersion: number;
}

export interface PreviewQuestion {
  /** As given; absent: nothing is named. */
  readonly moves?: unknown;
  readonly moveParked?: boolean;
}

/** A draft that cannot be published has its faults, and no nodes. Throws `AUTOMATION_NOT_FOUND`. */
export async function previewMoves(
  ctx: Context,
  uid: string,
  { moves: given, moveParked = true }: PreviewQuestion,
): Promise<PreviewedMoves> {
  return inTransaction(ctx, async (tx) => {
    const automation = await findOwnedAutomation(tx, uid);
    const { draftVersion } = automation;
    const draft = await checkDraft(tx, automation);
    if (!draft.flow) return { draftVersion, nodes: [], faults: draft.faults };
    const { moves, faults } = checkMoves(given ?? {});
    const judged = await judgeMoves(tx, automation, { flow: draft.flow, moves, moveParked });
    return {
      draftVersion,
      nodes: judged.nodes.slice(0, NODES_SHOWN_MAX),
      faults: faults.length > 0 ? faults : judged.faults,
    };
  });
}
