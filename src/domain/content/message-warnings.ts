/** Warnings for the author of a message, one sentence each; none of them stops sending. */
import { fieldLabel } from '../../lib/text.ts';
import type { MessageAddresses } from './check-message.ts';
import type { MarkedText } from './template-marks.ts';

/** Gmail shows so many bytes of a message, and a link to the rest. */
const CLIPPED_ABOVE_BYTES = 102 * 1024;

/** Of the html as its author wrote it; what is filled in for each reader comes on top. */
export function clippedWarnings(htmlBytes: number): string[] {
  if (htmlBytes <= CLIPPED_ABOVE_BYTES) return [];
  const kilobytes = Math.ceil(htmlBytes / 1024).toLocaleString('en');
  return [
    `The html has ${kilobytes} KB. Gmail clips messages above ${CLIPPED_ABOVE_BYTES / 1024} KB and shows a link to the rest.`,
  ];
}

export function missingAddressWarning(part: string): string {
  return `The postal address of the list is not in ${part}; it is added at the end.`;
}

export function unknownTagWarnings(parts: readonly MarkedText[]): string[] {
  return parts.flatMap(({ part, unknownTags }) =>
    unknownTags.map(
      (tag) => `"{${tag}}" in ${fieldLabel(part)} is neither a field of the list nor a merge tag; it is left as it is.`,
    ),
  );
}

/** Non-ASCII letters in a recipient's address concern that recipient; in these addresses they concern everybody. */
export function addressWarnings({ from, replyTo }: MessageAddresses): string[] {
  const named = { fromEmail: from, replyTo };
  return Object.entries(named).flatMap(([name, address]) =>
    address?.needsSmtpUtf8
      ? [
          `The address of ${fieldLabel(name)} has letters beyond ASCII before the @: only servers with SMTPUTF8 accept such a message, for any recipient.`,
        ]
      : [],
  );
}

/** More of one kind are found when these are corrected. */
export const BROKEN_LINKS_SHOWN_MAX = 20;

/** A link that leads to no web address, as written or with somebody's values. */
export function brokenLinkWarning(address: string): string {
  return `The address "${address.slice(0, 200)}" is no web address, so its link does not work.`;
}

export function missingImageWarnings(references: readonly string[]): string[] {
  return references.map((reference) => `"${reference}" in html names no picture of the message.`);
}
