/**
 * Publishes the draft: from then on people enter the new version; those inside finish on theirs, or are moved to it where a mapping says so
 * (D84). What is live already stays as it is.
 */
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../../context.ts';
import {
  draftChanged,
  FlowFaultsError,
  parkedWithoutMoves,
  peopleInMove,
  tooManyVersions,
} from '../automation-errors.ts';
import { insertVersion, isLiveFlow } from '../automation-store.ts';
import { VERSIONS_MAX, type Automation, type PublishedVersion } from '../automation.ts';
import { beginTriggers } from '../triggers/begin-triggers.ts';
import { checkDraft } from '../flow/check-automation.ts';
import { findOwnedAutomation } from '../find-owned-automation.ts';
import { checkMoves, type NodeTargets } from './checked-moves.ts';
import { holdUses } from '../flow/flow-use-store.ts';
import { usesOf } from '../flow/flow-uses.ts';
import type { Flow } from '../flow/flow.ts';
import { enqueueMoves } from './move-people.ts';
import { judgeMoves } from './occupied-nodes.ts';
import { versionInMove, writeMoves } from './asked-move-store.ts';

export interface Publishing {
  readonly draftVersion: number;
  /** From nodes of earlier versions to nodes of the draft, as given; absent: who is inside finishes on their version. */
  readonly moves?: unknown;
  /** Whether those who are parked are moved, too; by default they are. Only with `moves`. */
  readonly moveParked?: boolean | null | undefined;
}

/**
 * Throws FlowFaultsError `FLOW_HAS_FAULTS`, WrongStateError `AUTOMATION_CHANGED` when the draft is another one than `draftVersion`,
 * ValidationError `TOO_MANY_VERSIONS`, `AUTOMATION_NOT_FOUND`.
 */
export function publishAutomation(ctx: Context, uid: string, draftVersion: number): Promise<PublishedVersion> {
  return publishWithMoves(ctx, uid, { draftVersion });
}

/** The same; with `moves`, a job moves everybody who is inside. Throws WrongStateError `PEOPLE_IN_MOVE`, too. */
export async function publishWithMoves(ctx: Context, uid: string, asked: Publishing): Promise<PublishedVersion> {
  const { draftVersion, moves: given } = asked;
  // Somebody who says this expects people to be moved.
  if ((given ?? null) === null && typeof asked.moveParked === 'boolean') throw parkedWithoutMoves();
  const moveParked = asked.moveParked ?? true;
  return inTransaction(ctx, async (tx) => {
    const { customerId: owner, listId: listOfFlow, draft } = await findOwnedAutomation(tx, uid);
    await holdUses(tx.db, { customerId: owner, listId: listOfFlow }, usesOf(draft));
    const automation = await findOwnedAutomation(tx, uid, 'change');
    if (automation.draftVersion !== draftVersion) throw draftChanged(automation.draftVersion);
    const { flow, faults, warnings } = await checkDraft(tx, automation);
    if (!flow) throw new FlowFaultsError(faults);
    const moves = await checkedMoves(tx, automation, { flow, given, moveParked });
    const number = await versionOf(tx, automation, flow);
    if (moves) {
      const key = { customerId: automation.customerId, automationId: automation.id, version: number };
      await writeMoves(tx.db, key, { moves, moveParked });
      await enqueueMoves(tx.db, { ...key, afterId: 0n, isLast: false });
    }
    return { number, warnings };
  });
}

interface Given {
  readonly flow: Flow;
  readonly given: unknown;
  readonly moveParked: boolean;
}

/** Undefined: nobody is moved. */
async function checkedMoves(
  ctx: TransactionContext,
  automation: Automation,
  { flow, given, moveParked }: Given,
): Promise<NodeTargets | undefined> {
  if (given === undefined || given === null) return undefined;
  const { moves, faults } = checkMoves(given);
  if (faults.length > 0) throw new FlowFaultsError(faults, 'moves');
  const inMove = await versionInMove(ctx.db, { customerId: automation.customerId, automationId: automation.id });
  // Whoever publishes the same once more, by a slow page, gets the same again.
  if (inMove !== undefined && !(inMove === automation.liveVersion && (await isLiveFlow(ctx.db, automation, flow))))
    throw peopleInMove(inMove);
  const judged = await judgeMoves(ctx, automation, { flow, moves, moveParked });
  if (judged.faults.length > 0) throw new FlowFaultsError(judged.faults, 'moves');
  return moves;
}

/** The number of the version that has this flow from now on. Whoever publishes again by a program, or twice by a slow page, gets the same one. */
async function versionOf(ctx: TransactionContext, automation: Automation, flow: Flow): Promise<number> {
  const { customerId, id: automationId, uid, listId, status, liveVersion } = automation;
  if (liveVersion !== null && (await isLiveFlow(ctx.db, automation, flow))) return liveVersion;
  if ((liveVersion ?? 0) >= VERSIONS_MAX) throw tooManyVersions(VERSIONS_MAX);
  const number = await insertVersion(ctx.db, automation, { flow, publishedBy: viewerOf(ctx).userUid });
  const key = { customerId, automationId, version: number };
  if (status === 'active') await beginTriggers(ctx, { key, uid, listId, flow, isAnew: false });
  return number;
}
