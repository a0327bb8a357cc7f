/**
 * Checks of texts from outside: a text that may reach a header has no control characters, a text that reaches the database is
 * well-formed and without NUL, and every text has a limit. zod schemas for verbs' inputs, and `parseInput`, which turns zod's
 * findings into a ValidationError.
 */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import { countOf, type CountedNoun } from './counted-noun.ts';
import { ValidationError, type FieldErrors } from './errors.ts';

/** RFC 5321, 4.5.3.1: octets before the @, and of a whole path without its angle brackets. */
const LOCAL_PART_BYTES_MAX = 64;
export const EMAIL_BYTES_MAX = 254;
const DOMAIN_LABEL_MAX = 63;

// C0, DEL, C1 and the two Unicode line separators: each of them can end or hide a header line somewhere.
const CONTROL = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/;
// In text of several lines: the same, without tab, line feed and carriage return.
const CONTROL_IN_LINES = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f]/;
// A dot-atom of RFC 5322 with the letters RFC 6532 adds. Quoted local parts and comments are refused: parsers differ on them.
const LOCAL_PART = /^[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+(\.[\p{L}\p{M}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u;
// Checked before domainToASCII, which would decode percent signs and cut at a slash.
const DOMAIN_TYPED = /^[\p{L}\p{M}\p{N}.\u3002-]+$/u;
const DOMAIN_LABEL = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;
const ASCII = /^[\x21-\x7e]+$/;
// The usual form of addresses, for speed: an import reads millions. All others are checked in full.
const USUAL_ADDRESS = /^[a-z0-9_+-]+(\.[a-z0-9_+-]+)*@([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;

/** One line of at most `max` characters that may reach a header; trimmed; empty counts as missing. */
export function singleLine(max: number) {
  return optionalLine(max).pipe(z.string().min(1));
}

/** Like `singleLine`, but may be empty. */
export function optionalLine(max: number) {
  return z.string().max(max).refine(isOneLine, 'must not contain line breaks or control characters').trim();
}

/** Text of several lines, at most `max` characters; may be empty; not trimmed. */
export function multiLine(max: number) {
  return z.string().max(max).refine(isPlainText, 'must not contain control characters');
}

/** An email address as it was given, without surrounding white space. Compare addresses by `emailKey`. */
export function emailAddress() {
  return z
    .string()
    .trim()
    .min(1, { abort: true })
    .refine(isEmailAddress, 'must be a valid email address')
    .describe(`An email address of at most ${EMAIL_BYTES_MAX} bytes.`);
}

/** Text of several lines, at most so many megabytes in UTF-8; may be empty; not trimmed. */
export function longText(megabytesMax: number) {
  const isShort = (text: string) => Buffer.byteLength(text) <= megabytesMax * BYTES_PER_MEGABYTE;
  const fits = z.string().refine(isShort, { error: `may not be greater than ${megabytesMax} MB`, abort: true });
  return fits.refine(isPlainText, 'must not contain control characters').describe(`At most ${megabytesMax} MB.`);
}

const BYTES_PER_MEGABYTE = 1_048_576;

const FLAGS: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  yes: true,
  on: true,
  '0': false,
  false: false,
  no: false,
  off: false,
};

/** A flag in any spelling of decision D4: 1/0, true/false, yes/no, on/off; an empty text is false. */
export const flag = z.union([z.boolean(), z.number(), z.string()]).transform((value, context) => {
  const known = value === '' ? false : FLAGS[String(value).trim().toLowerCase()];
  if (known !== undefined) return known;
  context.addIssue({ code: 'custom', message: 'must be true or false', input: value });
  return z.NEVER;
});

/** No control characters, no line breaks, no half of a surrogate pair. */
export function isOneLine(value: string): boolean {
  return value.isWellFormed() && !CONTROL.test(value);
}

/** Nothing that the database or a mail body cannot contain. */
export function isPlainText(value: string): boolean {
  return value.isWellFormed() && !CONTROL_IN_LINES.test(value);
}

/** Whether this can be mailed to: one @, a dot-atom, a domain name (IDN too); nothing quoted, no comments, no IP literal. */
export function isEmailAddress(value: string): boolean {
  if (isUsualAddress(value)) return true;
  // Characters are never more than octets, so this also bounds the work below.
  if (value.length > EMAIL_BYTES_MAX || !value.isWellFormed()) return false;
  const at = value.lastIndexOf('@');
  const local = value.slice(0, at);
  if (at < 1 || Buffer.byteLength(local) > LOCAL_PART_BYTES_MAX || !LOCAL_PART.test(local)) return false;
  const domain = asciiDomain(value.slice(at + 1));
  return isMailDomain(domain) && Buffer.byteLength(local) + 1 + domain.length <= EMAIL_BYTES_MAX;
}

function isUsualAddress(value: string): boolean {
  const isShort = value.length <= EMAIL_BYTES_MAX && value.indexOf('@') <= LOCAL_PART_BYTES_MAX;
  // Two hyphens may belong to an encoded (IDNA) label, which has its own rules.
  return isShort && !value.includes('--') && USUAL_ADDRESS.test(value);
}

/** The address in the form in which addresses are compared: lower case, domain in ASCII. Takes what `isEmailAddress` accepts. */
export function emailKey(address: string): string {
  if (ASCII.test(address)) return address.toLowerCase();
  const at = address.lastIndexOf('@');
  return `${address.slice(0, at).normalize('NFC').toLowerCase()}@${asciiDomain(address.slice(at + 1))}`;
}

function asciiDomain(typed: string): string {
  return DOMAIN_TYPED.test(typed) ? domainToASCII(typed) : '';
}

function isMailDomain(domain: string): boolean {
  if (domain === 'localhost') return true;
  const labels = domain.split('.');
  const top = labels.at(-1) ?? '';
  return (
    labels.length > 1 &&
    !/^\d+$/.test(top) &&
    labels.every((label) => label.length <= DOMAIN_LABEL_MAX && DOMAIN_LABEL.test(label))
  );
}

export type InputResult<T> =
  | { readonly data: T; readonly errors?: undefined }
  | { readonly data?: undefined; readonly errors: FieldErrors };

/** The parsed input, or a ValidationError that names each wrong field (`contact.email`) with a sentence. */
export function parseInput<Schema extends z.ZodType>(schema: Schema, input: unknown): z.output<Schema> {
  const { data, errors } = checkInput(schema, input);
  if (errors) throw new ValidationError(errors);
  return data;
}

/** The same without throwing, for verbs that find further faults. */
export function checkInput<Schema extends z.ZodType>(schema: Schema, input: unknown): InputResult<z.output<Schema>> {
  const result = schema.safeParse(input, { reportInput: true });
  return result.success ? { data: result.data } : { errors: fieldErrors(result.error.issues) };
}

function fieldErrors(issues: readonly z.core.$ZodIssue[]): FieldErrors {
  const fields = new Map<string, string[]>();
  const add = (path: readonly PropertyKey[], sentence: string) => {
    const name = path.length > 0 ? path.map(String).join('.') : 'input';
    const sentences = fields.get(name) ?? [];
    // Each sentence once per field, even if several checks failed with it.
    if (!sentences.includes(sentence)) fields.set(name, [...sentences, sentence]);
  };
  for (const issue of issues) {
    if (issue.code !== 'unrecognized_keys') add(issue.path, sentenceOf(issue));
    else for (const key of issue.keys) add([...issue.path, key], `The ${fieldName(key)} field is not known.`);
  }
  return Object.fromEntries(fields);
}

function sentenceOf(issue: z.core.$ZodIssue): string {
  const name = nameAt(issue.path);
  const label = fieldLabel(name);
  const missing = issue.input === undefined || issue.input === null || issue.input === '';
  if (missing && issue.code !== 'custom') return requiredSentence(name);
  switch (issue.code) {
    case 'invalid_type':
      return `The ${label} must be ${EXPECTED[issue.expected] ?? issue.expected}.`;
    case 'too_big':
      if (issue.inclusive === false) return `The ${label} must be less than ${issue.maximum}.`;
      return `The ${label} may not be greater than ${counted(issue.maximum, issue.origin)}.`;
    case 'too_small':
      if (issue.inclusive === false) return `The ${label} must be greater than ${issue.minimum}.`;
      return `The ${label} must be at least ${counted(issue.minimum, issue.origin)}.`;
    case 'invalid_format':
      return ownWords(label, issue.message);
    case 'invalid_key':
      return ownWords(label, issue.issues[0]?.message ?? '');
    case 'invalid_union': {
      const options = ('options' in issue && issue.options) || [];
      return options.length > 0
        ? `The ${label} must be one of: ${options.map(String).join(', ')}.`
        : `The ${label} is invalid.`;
    }
    case 'invalid_value':
      return `The ${label} must be one of: ${issue.values.map(String).join(', ')}.`;
    case 'custom':
      // Another check has made the whole sentence.
      if (typeof issue.params?.sentence === 'string') return issue.params.sentence;
      return `The ${label} ${issue.message}.`;
    default:
      return `The ${label} is invalid.`;
  }
}

/** Messages of our schemas begin so; the library's own texts name regular expressions. */
function ownWords(label: string, message: string): string {
  return message.startsWith('must ') ? `The ${label} ${message}.` : `The ${label} is invalid.`;
}

const EXPECTED: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
};
const ITEMS = ['item', 'items'] as const;
const UNITS: Readonly<Record<string, CountedNoun>> = {
  string: ['character', 'characters'],
  array: ITEMS,
  set: ITEMS,
};

/** `1 character`; a number alone has no unit. */
function counted(number: number | bigint, origin: string): string {
  const unit = UNITS[origin];
  return unit ? countOf(number, unit) : String(number);
}

/** `contact.fromEmail` is called by its last name. */
function nameAt(path: readonly PropertyKey[]): string {
  return path.findLast((step) => typeof step === 'string') ?? 'input';
}

/** Names that are no nouns: "The at least must be at least 1." is no sentence. */
const IS_NO_NOUN =
  /^(?:(?:at|in|is|on|for|has|did|not|with|without)(?:[A-Z_]|$)|(?:more|less)(?:Than|_than)|(?:to|from|by|after|before|since|until|all|any|none|gte|lte)$|(?:starts|ends)(?:With|_with)$)/;

/** A field as the subject of a sentence: `fromEmail` is "from email", `atLeast` is "value of “at least”"; the tag of a list's field keeps its capitals. */
export function fieldLabel(name: string): string {
  return IS_NO_NOUN.test(name) ? `value of “${wordsOf(name)}”` : wordsOf(name);
}

/** The same before the word "field". */
function fieldName(name: string): string {
  return IS_NO_NOUN.test(name) ? `“${wordsOf(name)}”` : wordsOf(name);
}

export function requiredSentence(name: string): string {
  return `The ${fieldName(name)} field is required.`;
}

function wordsOf(name: string): string {
  if (name === name.toUpperCase()) return name;
  return name
    .replace(/([a-z])([A-Z0-9])/g, '$1 $2')
    .replaceAll('_', ' ')
    .toLowerCase();
}
