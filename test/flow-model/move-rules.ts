/** The rules of changes of a live flow (D84), one function each. No code of the product is used. */
import { isDeepStrictEqual } from 'node:util';
import { isWait } from './flow-shape.ts';
import type { FlowData, MovesData, NodeData, Targets } from './flow-data.ts';

/** Others notice their work. */
const ACTING: readonly NodeData['type'][] = [
  ...(['send_mail', 'add_tag', 'remove_tag', 'set_field'] as const),
  ...(['copy_to_list', 'move_to_list', 'unsubscribe', 'start_flow', 'api_call', 'webhook'] as const),
];

/** How a run ended. */
export interface Ended {
  readonly at: number;
  /** Its number. */
  readonly run: number;
  readonly version: number;
  /** It went through the flow to its end. */
  readonly hasFinished: boolean;
  /** What was done: type and id of the node. */
  readonly worked: ReadonlySet<string>;
}

interface Place {
  readonly node: NodeData;
  readonly flow: Pick<FlowData, 'holidays'>;
}

export const MOVE_RULES = {
  /** To the target that is named; without one to the same node, if it does the same work. */
  targetOf(nodes: readonly NodeData[], targets: Targets, { id, type }: NodeData): NodeData | undefined {
    const named = targets[id];
    return nodes.find((node) => (named === undefined ? node.id === id && node.type === type : node.id === named));
  },
  /** Who is parked is moved, or stays, as it is asked for. */
  isMoved({ isParked }: { readonly isParked: boolean }, { parked }: Pick<MovesData, 'parked'>): boolean {
    return parked || !isParked;
  },
  /** Who is on the way into an earlier version meanwhile is moved by the last round. */
  movesLate: true,
  /** Mails are passed over until the person waits again; all else was asked about the node. */
  staysAsked(asked: 'skip' | 'skip_mails' | 'wait_anew' | undefined): boolean {
    return asked === 'skip_mails';
  },
  /** The time that somebody has waited counts where they wait on. */
  countsOn({ type }: NodeData, isThere: boolean): boolean {
    return isThere || isWait(type);
  },
  /** What has not changed waits as it did. Holidays are part of a wait. */
  isUnchanged(before: Place, now: Place): boolean {
    return (
      isDeepStrictEqual(before.node, now.node) &&
      (now.node.type !== 'wait' || isDeepStrictEqual(before.flow.holidays, now.flow.holidays))
    );
  },
  /** To come to a node of a way round by a move is a pass of it. */
  passesAfter(times: number, isThere: boolean): number {
    return isThere ? Math.max(1, times) : times + 1;
  },
  /** What others notice is done once; waits and questions are no work, and neither what failed nor a call that nobody made is done. */
  isWork(type: NodeData['type'], port: string | null): boolean {
    return ACTING.includes(type) && port !== 'error' && port !== 'timeout';
  },
  /** Nothing done is done again, but on a way round that both versions have, it goes on. */
  isPassedOver({
    isDone,
    isToCome,
    isThere,
    goesRound,
  }: {
    readonly isDone: boolean;
    /** It was to be passed over in the version before, and the person has not come there. */
    readonly isToCome: boolean;
    /** The person is at the node, whose work is not done. */
    readonly isThere: boolean;
    readonly goesRound: boolean;
  }): boolean {
    return isDone && (isToCome || !(isThere || goesRound));
  },
  /** What is passed over is passed over once. */
  isOverOnce: true,
  /** Who has finished is let in by no change. */
  changeLetsIn: false,
  /** Whoever went through the flow to its end has finished. */
  hasFinished({ hasFinished }: Ended): boolean {
    return hasFinished;
  },
  /** Who has been in the live version, with any key, is not sent. */
  isOfLive({ version }: Ended, live: number): boolean {
    return version >= live;
  },
  /** Who is inside, or may get no mail of the list, is not sent. */
  maySend({ status, isSuppressed }: { readonly status: string; readonly isSuppressed: boolean }, isInside: boolean) {
    return !isInside && status === 'subscribed' && !isSuppressed;
  },
  /** What was done for them in their last run is not done again. */
  workedBefore({ worked }: Ended): ReadonlySet<string> {
    return worked;
  },
};
