/**
 * The first byte of what links, Message-IDs and return-paths say: the version of the format and the kind of source that
 * sent the message. Mails are kept for years, so a number that was used once keeps its meaning: add, never change.
 *
 * Behind it stand customer, source, subscriber and occurrence (which of several messages of one source to one person).
 * A campaign sends a person one message: its occurrence is 0, and a 0 at the end is not written.
 */

const VERSION = 1 << 4;
/** `none`: a mail of a list, a preview, a test. */
const SOURCE_KINDS = { none: 0, campaign: 1 } as const;

/** The first byte of what is said of a message of this campaign; 0 is none. */
export function formatByteOf(campaignId: bigint): number {
  return VERSION | (campaignId === 0n ? SOURCE_KINDS.none : SOURCE_KINDS.campaign);
}
