/**
 * The first byte in links, Message-IDs and return-paths: the version of the format and the kind of source that
 * sent the message. Mails are kept for years, so a number that was used once keeps its meaning: add, never change.
 *
 * Behind it stand customer, source, recipient and occurrence (which of several messages of one source to one person).
 * A campaign sends a person one message: its occurrence is 0, and a 0 at the end is not written.
 */
import { SOURCE_KINDS } from '../source-key.ts';

const VERSION = 1 << 4;
const KINDS = new Map<number, number>(Object.values(SOURCE_KINDS).map((kind) => [VERSION | kind, kind]));

/** The first byte for a message of a source of this kind. */
export function formatByteOf(kind: number): number {
  return VERSION | kind;
}

/** The kind of source of a first byte; undefined: an unknown one. */
export function sourceKindOf(formatByte: number | undefined): number | undefined {
  return formatByte === undefined ? undefined : KINDS.get(formatByte);
}
