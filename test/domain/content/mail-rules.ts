/**
 * What bulk mail must look like so that the big mailbox providers take it, as rules that are judged by the bytes
 * alone (hard case B1): RFC 5322, 2045, 2046, 2369, 2919, 8058, and the sender rules of Gmail and Yahoo. Nothing of
 * the product is used here.
 */

export interface Mail {
  readonly raw: string;
  readonly headers: readonly { readonly name: string; readonly value: string; readonly lines: readonly string[] }[];
  readonly body: string;
  /** Domain of the sender's signing key. */
  readonly signingDomain: string;
}

type Rule = (mail: Mail) => boolean;

const SINGLE = [
  'from',
  'to',
  'subject',
  'date',
  'message-id',
  'reply-to',
  'sender',
  'mime-version',
  'content-type',
  'list-id',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'feedback-id',
  'precedence',
];
const REQUIRED = ['from', 'to', 'subject', 'date', 'message-id', 'mime-version', 'content-type'];
const DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d{2}:\d{2}:\d{2} [+-]\d{4}$/;
const ADDRESS = String.raw`[^\s<>@",;:()]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+`;

/** The rules by name; a mail that breaks one is named by it. */
export const MAIL_RULES: Readonly<Record<string, Rule>> = {
  'lines end in CRLF': ({ raw }) => !/(^|[^\r])\n|\r(?!\n)/.test(raw),
  'no line is longer than 998 bytes': ({ raw }) => raw.split('\r\n').every((line) => line.length <= 998),
  'header lines are within 78 but for one long word': ({ headers }) =>
    headers.every(({ lines }) =>
      lines.every((line) => line.length <= 78 || !/\S\s+\S/.test(line.trim().replace(/^[\w-]+:\s*/, ''))),
    ),
  'headers are ASCII, or the mail is for SMTPUTF8': ({ headers }) =>
    headers.every(
      ({ name, lines }) => /^(from|to|reply-to)$/.test(name) || lines.every((line) => /^[\t -~]*$/.test(line)),
    ),
  'no NUL and no other control': ({ raw }) => !/[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/.test(raw),
  'header names are well-formed': ({ headers }) => headers.every(({ name }) => /^[a-z][a-z0-9-]*$/.test(name)),
  'no folded line is empty': ({ headers }) => headers.every(({ lines }) => lines.every((line) => line.trim() !== '')),
  'single headers stand once': ({ headers }) =>
    SINGLE.every((name) => headers.filter((header) => header.name === name).length <= 1),
  'required headers are there': ({ headers }) =>
    REQUIRED.every((name) => headers.some((header) => header.name === name)),
  'one address in From': (mail) => mailboxes(valueOf(mail, 'from')).length === 1,
  'one address in To': (mail) => mailboxes(valueOf(mail, 'to')).length === 1,
  'From is of the signing domain': (mail) => mailboxes(valueOf(mail, 'from'))[0]?.split('@')[1] === mail.signingDomain,
  'no Bcc and no Cc': ({ headers }) => !headers.some(({ name }) => name === 'bcc' || name === 'cc'),
  'Date is valid and sane': (mail) =>
    DATE.test(valueOf(mail, 'date')) && Math.abs(Date.parse(valueOf(mail, 'date')) - Date.now()) < 86_400_000 * 3_650,
  'Message-ID is valid': (mail) => /^<[!#$%&'*+/=?^_`{|}~.\w-]+@[A-Za-z0-9.-]+>$/.test(valueOf(mail, 'message-id')),
  'encoded words are whole': ({ headers }) =>
    headers.every(({ value }) => !/=\?/.test(value.replace(/=\?utf-8\?(?:q\?[!->@-~]*|b\?[A-Za-z0-9+/]*=*)\?=/gi, ''))),
  'MIME-Version is 1.0': (mail) => valueOf(mail, 'mime-version') === '1.0',
  'every text declares its charset': ({ raw }) =>
    [...raw.matchAll(/^content-type: text\/[^\r]*/gim)].every(
      ([line]) => /charset=utf-8/i.test(line) || /name/i.test(line),
    ),
  'every part names its transfer encoding': ({ raw }) =>
    count(raw, /^content-type: (?!multipart)/gim) ===
    count(raw, /^content-transfer-encoding: (quoted-printable|base64)\r$/gim),
  'boundaries are opened and closed': ({ raw }) =>
    [...raw.matchAll(/boundary="([^"]+)"/g)].every(
      ([, boundary = '']) => raw.includes(`\r\n--${boundary}\r\n`) && raw.includes(`\r\n--${boundary}--\r\n`),
    ),
  'there is a plain text': ({ raw }) => /^content-type: text\/plain/im.test(raw),
  'List-Unsubscribe is an https address, and maybe a mail address behind it': (mail) =>
    /^<https:\/\/[!-;=?-~]+>(?:, <mailto:[a-z0-9+]{1,64}@[a-z0-9.-]+\?subject=unsubscribe>)?$/.test(
      valueOf(mail, 'list-unsubscribe'),
    ),
  'List-Unsubscribe-Post is One-Click': (mail) =>
    valueOf(mail, 'list-unsubscribe-post') === 'List-Unsubscribe=One-Click',
  'List-Id is a name in angle brackets': (mail) => /<[a-z0-9-]+(\.[A-Za-z0-9-]+)+>$/.test(valueOf(mail, 'list-id')),
  'Feedback-ID has four parts and a sender of 5 to 15': (mail) =>
    /^[^:]+:[^:]+:[^:]+:[\w-]{5,15}$/.test(valueOf(mail, 'feedback-id')),
  'Precedence is bulk': (mail) => valueOf(mail, 'precedence') === 'bulk',
  'the way out is visible in every text': ({ body }) => {
    const text = body.replace(/=\r\n/g, '').replace(/=3D/g, '=');
    const parts = count(body, /^content-type: text\//gim) || 1;
    return count(text, /https:\/\/t\.example\.net\/u\//g) >= parts;
  },
  'nothing tells of the software but the feedback id': ({ headers }) =>
    !headers.some(({ name }) => /^(x-|user-agent)/.test(name)),
};

/** Reads a mail's bytes as the rules want them. */
export function mailOf(content: Uint8Array, signingDomain: string): Mail {
  const raw = Buffer.from(content).toString('latin1');
  const end = raw.indexOf('\r\n\r\n');
  const headers = raw
    .slice(0, end)
    .split(/\r\n(?![ \t])/)
    .map((header) => ({
      name: header.slice(0, header.indexOf(':')).toLowerCase(),
      value: header
        .slice(header.indexOf(':') + 1)
        .replace(/\r\n/g, '')
        .trim(),
      lines: header.split('\r\n'),
    }));
  return { raw, headers, body: raw.slice(end + 2), signingDomain };
}

/** Names of the rules that the mail breaks. */
export function brokenRules(mail: Mail): string[] {
  return Object.entries(MAIL_RULES).flatMap(([name, holds]) => (holds(mail) ? [] : [name]));
}

function valueOf({ headers }: Mail, name: string): string {
  return headers.find((header) => header.name === name)?.value ?? '';
}

/** Addresses of a header that has no groups, comments or quoted local parts. */
function mailboxes(value: string): string[] {
  const bare = value.replace(/"(?:[^"\\]|\\.)*"/g, '').replace(/=\?[^?]*\?[^?]*\?[^?]*\?=/g, '');
  return bare.match(new RegExp(ADDRESS, 'gu')) ?? [];
}

function count(text: string, pattern: RegExp): number {
  return [...text.matchAll(pattern)].length;
}
