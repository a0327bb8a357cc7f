/** What a slot may read while one recipient's message is filled, and the parts of a compiled text. */
import type { MessageRecipient, SharedLink } from './message.ts';

export interface FillScope {
  readonly recipient: MessageRecipient;
  readonly now: Date;
  /** False where nothing is counted: the web view, a preview. */
  readonly withPixel: boolean;
  /** The results of Liquid for this recipient, slot by slot, by the part of the message. */
  readonly liquid: ReadonlyMap<object, readonly string[]>;
}

/** Gives the text for one place of the message, already escaped for that place. */
export interface Slot {
  (scope: FillScope): string;
  /** Its segments in a mail, when it is not written as a whole. */
  readonly inMail?: readonly Segment[];
  /** Its address: of the same link for all recipients, and how it is escaped. */
  readonly address?: { readonly link: SharedLink; readonly escape: (text: string) => string };
}

/** A compiled text: what is the same for all, and slots. */
export type Segment = string | Slot;

/** Fills a compiled text for one recipient. */
export function fillText(segments: readonly Segment[], scope: FillScope): string {
  let text = '';
  for (const segment of segments) text += typeof segment === 'string' ? segment : segment(scope);
  return text;
}

/** A place with another text where the message is read as a page. */
export function mailOrPage(inMail: readonly Segment[], onPage: string): Slot {
  const slot = (scope: FillScope): string => (scope.withPixel ? fillText(inMail, scope) : onPage);
  return Object.assign(slot, { inMail });
}

/** The address of a link that is the same for everybody except for a code. */
export function addressSlot(
  link: SharedLink,
  escape: (text: string) => string,
  read: (scope: FillScope) => string,
): Slot {
  return Object.assign((scope: FillScope) => escape(read(scope)), { address: { link, escape } });
}

/** Joins neighbouring static segments and drops empty ones. */
export function mergeStatic<T extends object>(segments: readonly (string | T)[]): (string | T)[] {
  const merged: (string | T)[] = [];
  for (const segment of segments) {
    const last = merged.at(-1);
    if (segment === '') continue;
    if (typeof segment === 'string' && typeof last === 'string') merged[merged.length - 1] = last + segment;
    else merged.push(segment);
  }
  return merged;
}
