/** The rules of flows that go on after a pause (D85), of nodes that failed (D87), and of taking people out, one function each. No code of the product is used. */
import { isWait } from './flow-shape.ts';
import type { LateChoice, NodeData } from './flow-data.ts';

const HOUR_MS = 3_600_000;

export const PAUSE_RULES = {
  /** Nobody moves in a flow that is paused. */
  isMoving(status: string): boolean {
    return status === 'active';
  },
  /** What happened while the flow was stopped is looked at when it goes on. */
  looksAgain: true,
  /** Who is late by more than an hour, or should have got a mail so many hours ago that it is skipped. */
  lateUntil({ mode, hours }: LateChoice, now: number): number {
    return now - (mode === 'skip_mails' ? hours : 1) * HOUR_MS;
  },
  /** Evenly over the hours, the first at once and the last at their end. `before`: how many of the node go first. */
  turnOf(
    { mode, hours, from, total }: LateChoice & { readonly from: number; readonly total: number },
    before: number,
  ): number {
    if (mode !== 'spread' || total <= 1) return from;
    return Math.round(from + (hours * HOUR_MS * Math.min(before, total - 1)) / (total - 1));
  },
  /** What is asked of who was late. */
  askedOfLate({ mode }: LateChoice): 'skip_mails' | 'wait_anew' | undefined {
    return mode === 'spread' ? undefined : mode;
  },
  /** Which nodes wait anew; the others do their work. */
  waitsAnew({ type }: NodeData): boolean {
    return isWait(type);
  },
  /** As if the node had done its work; a choice that nobody makes goes the last way. */
  portToSkip(node: NodeData): string {
    if (node.type === 'split') return `variant:${node.variants.at(-1)?.name ?? ''}`;
    return node.type === 'condition' ? 'no' : 'next';
  },
  /** Who is taken out by hand leaves wherever they are, with every key, also a flow that is stopped. */
  isTakenOut(_run: { readonly isParked: boolean; readonly key: string }, _status: string): boolean {
    return true;
  },
};
