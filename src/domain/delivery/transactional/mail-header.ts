/**
 * Headers that a caller may add to a transactional mail: an allow-list, because a header can change who gets a mail, who seems to
 * have written it, and what the service that passes it on does with it.
 */
import { z } from 'zod';
import { isOneLine } from '../../../lib/text.ts';
import { textHeader, tokenHeader } from '../../content/mail-headers.ts';

export type MailHeader = [name: string, value: string];

/** More than programs need; each makes every copy larger. */
export const HEADERS_MAX = 20;
/** RFC 5322 2.1.1: a line has at most 998 characters. */
const VALUE_LENGTH_MAX = 900;
const X_NAME = /^x-[a-z0-9-]{1,60}$/;
const OTHERS = ['importance', 'in-reply-to', 'keywords', 'organization', 'priority', 'references'];
/** By these, sending services take orders: further recipients, another account. */
const ORDERS = [
  ...['x-smtpapi', 'x-msys-', 'x-ses-', 'x-mailgun-', 'x-mc-', 'x-pm-', 'x-mailin-', 'x-sib-', 'x-elasticemail-'],
  ...['x-mj-', 'x-postmark-', 'x-amz-', 'x-campaign'],
];
const OF_IDS = ['in-reply-to', 'references'];
/** RFC 5322 3.6.4, without comments. */
const MESSAGE_ID = /^<[!-;=?-~]{1,240}>$/;

/** An object of names and values. */
export const mailHeaders = z.unknown().transform((value, context): MailHeader[] => {
  const faults = isObject(value) ? faultsOf(value) : [{ name: undefined, message: 'must be an object of JSON' }];
  for (const { name, message } of faults) {
    const path = name === undefined ? [] : [name];
    const sentence = name === undefined ? `The headers ${message}.` : `The header "${name}" ${message}.`;
    context.addIssue({ code: 'custom', message, path, params: { sentence }, input: value });
  }
  if (faults.length > 0 || !isObject(value)) return z.NEVER;
  return Object.entries(value).map(([name, text]) => [name, String(text).trim()]);
});

interface HeaderFault {
  readonly name: string | undefined;
  readonly message: string;
}

function faultsOf(headers: object): HeaderFault[] {
  const entries: [string, unknown][] = Object.entries(headers);
  if (entries.length > HEADERS_MAX) return [{ name: undefined, message: `may be at most ${HEADERS_MAX}` }];
  const known = new Set<string>();
  return entries.flatMap(([name, value]) => {
    const key = name.toLowerCase();
    const message = known.has(key) ? 'is given twice' : faultOf(key, value);
    known.add(key);
    return message === undefined ? [] : [{ name: name.slice(0, 80), message }];
  });
}

function faultOf(key: string, value: unknown): string | undefined {
  const isAllowed = OTHERS.includes(key) || (X_NAME.test(key) && !ORDERS.some((start) => key.startsWith(start)));
  if (!isAllowed)
    return `cannot be set: allowed are ${OTHERS.join(', ')}, and names that begin with X-, except those of sending services`;
  if (typeof value !== 'string' || value.trim() === '') return 'must be a text';
  if (value.length > VALUE_LENGTH_MAX) return `may have at most ${VALUE_LENGTH_MAX} characters`;
  if (!isOneLine(value)) return 'must not contain line breaks or control characters';
  if (OF_IDS.includes(key) && !idsIn(value).every((id) => MESSAGE_ID.test(id)))
    return 'must be one or more Message-IDs such as <id@example.com>, with spaces between them';
  return undefined;
}

function idsIn(value: string): string[] {
  return value
    .trim()
    .split(' ')
    .filter((id) => id !== '');
}

/** The header with its line end, folded and encoded. */
export function headerLine([name, value]: MailHeader): string {
  return OF_IDS.includes(name.toLowerCase()) ? tokenHeader(name, idsIn(value).join('\r\n ')) : textHeader(name, value);
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
