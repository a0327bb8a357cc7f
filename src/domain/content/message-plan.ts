/**
 * A message in parts as plain data, which one thread can send to another. plan-message.ts makes it from what authors wrote;
 * compile-message.ts makes the compiled message from it.
 */
import type { FieldErrors } from '../../lib/errors.ts';
import type { Escape } from './escape.ts';
import type { LiquidSource } from './liquid-messages.ts';
import type { MessageAddresses } from './check-message.ts';
import type { InlineImage } from './message-files.ts';
import type { MessageSource, PartName, TrackedLink } from './message.ts';

/** The source of a plan: files are only named. */
export interface PlanSource extends Omit<MessageSource, 'files'> {
  readonly images: readonly PlannedImage[];
}

export type PlannedImage = Pick<InlineImage, 'id' | 'url' | 'reference'>;

/** A text that is the same for all, or a place to fill in. */
export type PlannedSegment =
  | string
  | { readonly kind: 'tag'; readonly name: string; readonly escape: Escape }
  /** The address of a tracked link. */
  | { readonly kind: 'link'; readonly no: number; readonly place: 'html' | 'plain' }
  /** An insert of compile-message.ts, such as the pixel. */
  | { readonly kind: 'insert'; readonly name: string }
  /** A place with another text where the message is read as a page. */
  | { readonly kind: 'mailOrPage'; readonly inMail: string; readonly onPage: string };

export type PlannedText =
  | { readonly segments: readonly PlannedSegment[] }
  | {
      readonly liquid: LiquidSource;
      /** The pieces behind the marks in its source. */
      readonly pieces: readonly PlannedSegment[];
      /** The merge tags that its source names. */
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
  /** Faults of templates. Their Liquid may have more. */
  readonly faults: readonly PlanFault[];
}

/** A ValidationError as data. */
export interface PlanFault {
  readonly fields: FieldErrors;
  readonly code: string;
  readonly message: string;
}
