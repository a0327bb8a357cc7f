/**
 * A message taken apart as plain data, which one thread can hand to another: texts and what stands between them. Made by
 * plan-message.ts from what authors wrote; compile-message.ts makes the compiled message of it.
 */
import type { FieldErrors } from '../../lib/errors.ts';
import type { Escape } from './escape.ts';
import type { LiquidSource } from './liquid-messages.ts';
import type { MessageAddresses } from './check-message.ts';
import type { InlineImage } from './message-files.ts';
import type { MessageSource, PartName, TrackedLink } from './message.ts';

/** What a plan is made from: the files are only named. */
export interface PlanSource extends Omit<MessageSource, 'files'> {
  readonly images: readonly PlannedImage[];
}

export type PlannedImage = Pick<InlineImage, 'id' | 'url' | 'reference'>;

/** A text that is the same for all, or what has to be filled in. */
export type PlannedSegment =
  | string
  | { readonly kind: 'tag'; readonly name: string; readonly escape: Escape }
  /** The address of a tracked link. */
  | { readonly kind: 'link'; readonly no: number; readonly place: 'html' | 'plain' }
  /** What compile-message.ts has for this name, such as the pixel. */
  | { readonly kind: 'insert'; readonly name: string }
  /** A place that says something else where the message is read as a page. */
  | { readonly kind: 'mailOrPage'; readonly inMail: string; readonly onPage: string };

export type PlannedText =
  | { readonly segments: readonly PlannedSegment[] }
  | {
      readonly liquid: LiquidSource;
      /** What the marks in its source stand for. */
      readonly pieces: readonly PlannedSegment[];
      /** The merge tags that its source may name. */
      readonly tags: readonly string[];
    };

export interface MessagePlan {
  readonly addresses: MessageAddresses;
  /** Without html the message has plain text only. */
  readonly parts: { readonly [part in PartName]?: PlannedText | undefined };
  readonly links: readonly TrackedLink[];
  /** The address of each link by its number; undefined for those with Liquid in them. */
  readonly linkAddresses: readonly (readonly PlannedSegment[] | undefined)[];
  readonly showsUnsubscribe: boolean;
  readonly warnings: readonly string[];
  /** Faults of templates. There may be more in their Liquid. */
  readonly faults: readonly PlanFault[];
}

/** A ValidationError as data. */
export interface PlanFault {
  readonly fields: FieldErrors;
  readonly code: string;
  readonly message: string;
}
