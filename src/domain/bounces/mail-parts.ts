/**
 * A mail as flat parts with their texts. Mails to bounce addresses are not trusted: every size is limited, and what cannot be
 * parsed is a mail with one part.
 */
import PostalMime, { type Email } from 'postal-mime';
import { MAIL_BYTES_READ } from './mail-report.ts';

const NESTING_DEPTH_MAX = 20;
const HEADER_BYTES_MAX = 65_536;
/** Per part; diagnostic texts are shorter, and rules are tested on it. */
const TEXT_LENGTH_MAX = 32_768;
/** The parser needs time per line, and the important lines are the first hundreds. */
const LINES_MAX = 8_000;
/** A report has three. */
const PARTS_MAX = 20;

export interface MailPart {
  /** Lower case: `message/delivery-status`. */
  readonly type: string;
  readonly text: string;
}

export interface MailParts {
  /** All headers, one per line, unchanged. */
  readonly headerText: string;
  /** The first header of the name (in lower case), or an empty text. */
  header(name: string): string;
  /** The readable text. */
  readonly text: string;
  readonly parts: readonly MailPart[];
}

/** Never throws. */
export async function readMailParts(raw: Buffer): Promise<MailParts> {
  const bytes = raw.subarray(0, endOfLines(raw.subarray(0, MAIL_BYTES_READ)));
  try {
    const options = {
      maxNestingDepth: NESTING_DEPTH_MAX,
      maxHeadersSize: HEADER_BYTES_MAX * 2,
      maxRfc822NestingDepth: 0,
      forceRfc822Attachments: true,
    };
    return partsOf(await PostalMime.parse(bytes, options));
  } catch {
    return asOnePart(bytes.toString('utf8'));
  }
}

/** Where the last line ends that is read. */
function endOfLines(bytes: Buffer): number {
  let end = 0;
  for (let lines = 0; lines < LINES_MAX; lines++) {
    const next = bytes.indexOf(0x0a, end);
    if (next < 0) return bytes.length;
    end = next + 1;
  }
  return end;
}

function partsOf(email: Email): MailParts {
  const headers = new Map<string, string>();
  for (const { key, value } of email.headers) if (!headers.has(key)) headers.set(key, value);
  return {
    headerText: email.headerLines
      .map(({ line }) => line)
      .join('\n')
      .slice(0, HEADER_BYTES_MAX),
    header: (name) => headers.get(name) ?? '',
    text: (email.text ?? withoutTags(email.html ?? '')).slice(0, TEXT_LENGTH_MAX),
    parts: email.attachments.slice(0, PARTS_MAX).map(({ mimeType, content }) => ({
      type: mimeType.toLowerCase(),
      text: (typeof content === 'string' ? content : new TextDecoder().decode(content)).slice(0, TEXT_LENGTH_MAX),
    })),
  };
}

function asOnePart(mail: string): MailParts {
  const end = /\r?\n\r?\n/.exec(mail)?.index ?? 0;
  const headerText = mail.slice(0, Math.min(end, HEADER_BYTES_MAX));
  const fields = fieldsOf(headerText);
  return {
    headerText,
    header: (name) => fields.get(name) ?? '',
    text: mail.slice(end, end + TEXT_LENGTH_MAX),
    parts: [],
  };
}

/** Fields of a header or of a group in a status part: name in lower case to the first value, unfolded. */
export function fieldsOf(text: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string[]>();
  let name = '';
  for (const line of text.split(/\r?\n/)) {
    if (/^[ \t]/.test(line)) {
      fields.get(name)?.push(line.trim());
      continue;
    }
    const colon = line.indexOf(':');
    const found = colon > 0 ? line.slice(0, colon).trim().toLowerCase() : '';
    // Of equal names the first counts; folded lines of the others are dropped, too.
    name = found === '' || fields.has(found) ? '' : found;
    if (name !== '') fields.set(name, [line.slice(colon + 1).trim()]);
  }
  return new Map(Array.from(fields, ([key, lines]) => [key, lines.filter(Boolean).join(' ')]));
}

/** Exchange writes bounces in html only. */
function withoutTags(html: string): string {
  return html
    .slice(0, TEXT_LENGTH_MAX * 2)
    .replace(/<(?:style|script|head)\b[^<]{0,20000}<\/(?:style|script|head)>/gi, ' ')
    .replace(/<(?:br|\/p|\/div|\/tr|\/h\d)\b[^<>]{0,200}>/gi, '\n')
    .replace(/<[^<>]{0,2000}>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&nbsp;', ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&');
}
