/** Reads a received mail: headers, both bodies and their links. The input is not trusted. */
import { Parser } from 'htmlparser2';
import PostalMime, { decodeWords, type Address } from 'postal-mime';
import { messageOf } from '../lib/errors.ts';
import { withoutTrailing } from '../lib/without-trailing.ts';

/** The subject is within this; a longer header is not read. */
const HEADER_BYTES_MAX = 65_536;
const SUBJECT_LENGTH_MAX = 500;
/** A mail with more links is a test of the limits. */
const LINKS_MAX = 1_000;
/** Mails nest a few levels; each level costs time. */
const NESTING_DEPTH_MAX = 20;
const SUBJECT = /^subject:[ \t]*(.*(?:\r?\n[ \t].*)*)/im;
const URL_IN_TEXT = /\bhttps?:\/\/[^\s<>"']+/g;

export interface ParsedMessage {
  readonly from: string;
  readonly subject: string;
  readonly headers: readonly { readonly name: string; readonly value: string }[];
  readonly html: string | null;
  readonly text: string | null;
  /** Every address that the bodies link to, once, in order. */
  readonly links: readonly string[];
  readonly attachments: readonly { readonly filename: string; readonly type: string; readonly size: number }[];
}

/** The decoded subject, read from the header alone: for lists of mails. */
export function subjectOf(raw: Buffer): string {
  const headerEnd = raw.indexOf('\r\n\r\n');
  const header = raw.toString('utf8', 0, Math.min(headerEnd < 0 ? raw.length : headerEnd, HEADER_BYTES_MAX));
  const folded = SUBJECT.exec(header)?.[1] ?? '';
  const value = folded.replace(/\r?\n[ \t]+/g, ' ').trim();
  return (value.includes('=?') ? decodeWords(value) : value).slice(0, SUBJECT_LENGTH_MAX);
}

/**
 * Parses a whole mail. If that fails, the text says why; its source can still be read. Takes a second for each MB of short lines,
 * so it runs in a thread (read-message.ts).
 */
export async function parseMessage(raw: Buffer): Promise<ParsedMessage> {
  try {
    const email = await PostalMime.parse(raw, { maxNestingDepth: NESTING_DEPTH_MAX, maxRfc822NestingDepth: 1 });
    const { html = null, text = null } = email;
    return {
      from: email.from ? formatAddress(email.from) : '',
      subject: email.subject ?? '',
      headers: email.headers.map(({ originalKey, value }) => ({ name: originalKey, value })),
      html,
      text,
      links: linksOf(html ?? '', text ?? ''),
      attachments: email.attachments.map(({ filename, mimeType, content }) => ({
        filename: filename ?? '',
        type: mimeType,
        size: typeof content === 'string' ? content.length : content.byteLength,
      })),
    };
  } catch (error) {
    return unparsedMessage(raw, messageOf(error));
  }
}

/** What is shown of a mail that cannot be parsed. */
export function unparsedMessage(raw: Buffer, why: string): ParsedMessage {
  const text = `This message cannot be parsed: ${why}`;
  return { from: '', subject: subjectOf(raw), headers: [], html: null, text, links: [], attachments: [] };
}

function linksOf(html: string, text: string): string[] {
  const links = new Set<string>();
  const parser = new Parser({
    onopentag: (name, attributes) => {
      const href = attributes['href']?.trim();
      if (href && (name === 'a' || name === 'area')) links.add(href);
    },
  });
  parser.write(html);
  parser.end();
  for (const [url] of text.matchAll(URL_IN_TEXT)) links.add(withoutTrailing(url, /[.,;:!?)\]]/));
  return [...links].slice(0, LINKS_MAX);
}

function formatAddress(address: Address): string {
  if (address.address === undefined) return address.name;
  return address.name === '' ? address.address : `${address.name} <${address.address}>`;
}
