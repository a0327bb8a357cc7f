/** What a slot may read while one recipient's message is filled, and what a compiled text consists of. */
import type { MessageRecipient } from './message.ts';

export interface FillScope {
  readonly recipient: MessageRecipient;
  readonly now: Date;
  /** False where nobody is counted: the web view, a preview. */
  readonly withPixel: boolean;
  /** What Liquid came to for this recipient, slot by slot, by the part of the message. */
  readonly liquid: ReadonlyMap<object, readonly string[]>;
}

/** Gives the text for one place of the message, already escaped for that place. */
export interface Slot {
  (scope: FillScope): string;
  /** What it is made of in a mail, when that is less than the whole of it. */
  readonly inMail?: readonly Segment[];
}

/** A compiled text: what is the same for all, and slots. */
export type Segment = string | Slot;

/** Fills a compiled text for one recipient. */
export function fillText(segments: readonly Segment[], scope: FillScope): string {
  let text = '';
  for (const segment of segments) text += typeof segment === 'string' ? segment : segment(scope);
  return text;
}

/** A place that says something else where the message is read as a page. */
export function mailOrPage(inMail: readonly Segment[], onPage: string): Slot {
  const slot = (scope: FillScope): string => (scope.withPixel ? fillText(inMail, scope) : onPage);
  return Object.assign(slot, { inMail });
}

/** Joins neighbouring static segments and drops empty ones. */
export function mergeStatic(segments: readonly Segment[]): Segment[] {
  const merged: Segment[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    if (segment === '') continue;
    if (typeof segment === 'string' && typeof last === 'string') merged[merged.length - 1] = last + segment;
    else merged.push(segment);
  }
  return merged;
}
