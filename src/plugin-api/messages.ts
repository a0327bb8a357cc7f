/** What plugins can do with a campaign's messages: change the text, skip a recipient. */
import type { TaggedMessage, TagRecipient } from './merge-tag.ts';

/**
 * The FILTER `before_message_sent`: asked for each recipient of a campaign before the message is composed and handed over, again for
 * each further try. It is synchronous, and all mail waits for it: look things up before, and only compare here.
 */
export interface MessageToSend {
  readonly email: string;
  readonly subscriberUid: string;
  readonly campaignUid: string;
  readonly listUid: string;
  readonly customerUid: string;
  /** Set it, and the recipient does not get the message. All else that is changed here has no effect. */
  readonly skip: SkippedMessage | null;
}

export interface SkippedMessage {
  /** For the campaign's owner: a sentence, at most 200 characters. It is shown with the plugin's name. */
  readonly reason: string;
}

/**
 * An entry of the REGISTRY `recipient_check`: who of a batch does not get the message. Unlike `before_message_sent` it may wait for
 * something, because it is asked once for many recipients, before they are sent to.
 */
export interface RecipientCheck {
  /**
   * The reasons by `subscriberUid` for those who are skipped: a sentence of at most 200 characters, shown with the plugin's name.
   * Everybody else gets the message, and so do all when it fails or takes longer than ten seconds.
   */
  skips(recipients: readonly TagRecipient[], message: TaggedMessage): SkipReasons | Promise<SkipReasons>;
}

export type SkipReasons = Readonly<Record<string, string>>;

/**
 * The FILTER `message_composed`: the texts of a campaign's message before it is compiled, which happens once for all recipients. The
 * texts are templates: merge tags and Liquid are filled in afterwards. Previews and tests are composed in the same way. What comes out
 * is checked like what an author writes; the uids cannot be changed.
 */
export interface ComposedMessage {
  /** Empty in the preview of a message that is not saved. */
  readonly campaignUid: string;
  readonly listUid: string;
  readonly customerUid: string;
  readonly subject: string;
  readonly preheader: string;
  readonly fromName: string;
  /** Null: the message has none. Html or plain text must have content. */
  readonly html: string | null;
  /** Null: it is made from the html. */
  readonly plain: string | null;
}

/**
 * The FILTER `import_row`: each line of an import, before it is checked. Lines of people who have unsubscribed are not shown: an
 * opt-out is always obeyed.
 */
export interface ImportedRow {
  readonly listUid: string;
  readonly importUid: string;
  readonly customerUid: string;
  /** The number of the line in the file. */
  readonly line: number;
  /** The texts of the file by the tag of the field, and `EMAIL`, `STATUS`, `TAGS`. Only columns that the file has; all fields of the list may be set. */
  readonly values: Readonly<Record<string, string>>;
  /** Set it, and the line is rejected. */
  readonly refuse: RefusedRow | null;
}

export interface RefusedRow {
  /** For the report of the import: one line, at most 200 characters. It is shown with the plugin's name. */
  readonly reason: string;
}

/** Longest `reason` of a refused line. */
export const IMPORT_REFUSAL_LENGTH_MAX = 200;

/** Longest `reason` of a skipped message. */
export const SKIP_REASON_LENGTH_MAX = 200;
