/** Merge tags of plugins: `{ACME_POINTS}` in a message, `{{ ACME_POINTS }}` in Liquid. */

/** An entry of the REGISTRY `merge_tag`. */
export interface MergeTag {
  /** Begins with the plugin's vendor in capitals: `ACME_POINTS`. A field of the list with this tag goes before it. */
  readonly tag: string;
  readonly title: string;
  /** Stands where a recipient has no value, or the plugin has failed. Empty if absent. */
  readonly fallback?: string | undefined;
  /** Stands in previews without a person; the fallback if absent. */
  readonly example?: string | undefined;
  /** A recipient without a value waits, and is tried again some minutes later. Absent: the recipient gets the fallback. */
  readonly isRequired?: boolean | undefined;
  /**
   * The values by `subscriberUid`, for all recipients that are sent to next: ask once for all of them. Called only for messages that name
   * the tag. What takes longer than ten seconds counts as failed.
   */
  values(recipients: readonly TagRecipient[], message: TaggedMessage): TagValuesByUid | Promise<TagValuesByUid>;
}

export type TagValuesByUid = Readonly<Record<string, string | number>>;

export interface TagRecipient {
  readonly subscriberUid: string;
  readonly email: string;
  /** Values of the list's fields by their tag. */
  readonly fields: Readonly<Record<string, string | number | boolean | null>>;
}

export interface TaggedMessage {
  /** Empty in the preview of a message that is not saved. */
  readonly campaignUid: string;
  readonly listUid: string;
  readonly customerUid: string;
}
