/**
 * Header lines: RFC 5322 folding and RFC 2047 encoded words. Any text becomes exactly one header: it is made one line first, then
 * written in printable ASCII.
 */
import { headerText } from './escape.ts';

/** RFC 5322 2.1.1: a line should stay within 78 characters. */
const LINE_LENGTH = 78;
/** RFC 2047 2: an encoded word has at most 75 characters, a line that holds one at most 76. */
const ENCODED_WORD_LENGTH = 75;
const ENCODED_WORD_OVERHEAD = '=?UTF-8?B??='.length;

const PRINTABLE_ASCII = /^[ -~]*$/;
const ATOMS = /^[\w!#$%&'*+/=?^`{|}~-]+(?: [\w!#$%&'*+/=?^`{|}~-]+)*$/;
/** RFC 2047 5 (3): characters that are not encoded in an encoded word inside a phrase. */
const PHRASE_SAFE = /^[A-Za-z0-9!*+/-]$/;

/** `Name: text` for unstructured text such as a subject, with the line end. */
export function textHeader(name: string, text: string): string {
  return `${name}: ${encodeText(headerText(text).trim(), name.length + 2)}\r\n`;
}

/** `Name: display <address>` for one mailbox, with the line end. `address` must be a bare address. */
export function mailboxHeader(name: string, displayName: string, address: string): string {
  const phrase = encodePhrase(headerText(displayName).trim(), name.length + 2);
  if (phrase === '') return `${name}: ${address}\r\n`;
  const lastLine = phrase.slice(phrase.lastIndexOf('\n') + 1);
  const column = lastLine.length + (phrase.includes('\n') ? 0 : name.length + 2);
  const separator = column + address.length + 3 > LINE_LENGTH ? '\r\n ' : ' ';
  return `${name}: ${phrase}${separator}<${address}>\r\n`;
}

/** `Name: value` for a value that is known to be safe ASCII; a long one begins on a new line. */
export function tokenHeader(name: string, value: string): string {
  const separator = name.length + 2 + value.length > LINE_LENGTH ? '\r\n ' : ' ';
  return `${name}:${separator}${value}\r\n`;
}

/** RFC 5322 3.3, in UTC. */
export function dateHeader(date: Date): string {
  const second = Math.floor(date.getTime() / 1_000);
  if (second !== lastDate.second)
    lastDate = { second, header: `Date: ${date.toUTCString().replace('GMT', '+0000')}\r\n` };
  return lastDate.header;
}

/** Thousands of messages have the same. */
let lastDate = { second: Number.NaN, header: '' };

function encodeText(text: string, column: number): string {
  const isPlain = PRINTABLE_ASCII.test(text) && !text.includes('=?');
  if (isPlain && column + text.length <= LINE_LENGTH) return text;
  return (isPlain ? foldWords(text, column) : undefined) ?? encodeWords(text, column);
}

function encodePhrase(text: string, column: number): string {
  if (text === '') return '';
  const phrase = ATOMS.test(text) ? text : `"${text.replace(/["\\]/g, String.raw`\$&`)}"`;
  const fits = PRINTABLE_ASCII.test(text) && !text.includes('=?') && column + phrase.length <= LINE_LENGTH;
  return fits ? phrase : encodeWords(text, column);
}

/** Folds before words, never into a line of only spaces; undefined when a word is longer than a line. */
function foldWords(text: string, startColumn: number): string | undefined {
  let folded = '';
  let column = startColumn;
  for (const word of text.split(/(?= [^ ])/)) {
    const needsFold = column + word.length > LINE_LENGTH;
    if (needsFold && (folded === '' || word.length > LINE_LENGTH)) return undefined;
    folded += needsFold ? `\r\n${word}` : word;
    column = needsFold ? word.length : column + word.length;
  }
  return folded;
}

/** As many encoded words as necessary, one per line, in the shorter of the two encodings. */
function encodeWords(text: string, startColumn: number): string {
  const quoted = [...text].map(quotedCharacter);
  const quotedLength = quoted.reduce((sum, piece) => sum + piece.length, 0);
  const useBase64 = Math.ceil(Buffer.byteLength(text) / 3) * 4 < quotedLength;
  const words: string[] = [];
  let pending = '';
  let length = 0;
  for (const [index, character] of [...text].entries()) {
    const column = words.length === 0 ? startColumn : 1;
    const space = Math.min(ENCODED_WORD_LENGTH, LINE_LENGTH - 2 - column) - ENCODED_WORD_OVERHEAD;
    const cost = useBase64 ? Buffer.byteLength(character) : (quoted[index]?.length ?? 0);
    if (pending !== '' && length + cost > (useBase64 ? Math.floor(space / 4) * 3 : space)) {
      words.push(encodedWord(pending, useBase64));
      pending = '';
      length = 0;
    }
    pending += character;
    length += cost;
  }
  words.push(encodedWord(pending, useBase64));
  return words.join('\r\n ');
}

function encodedWord(text: string, useBase64: boolean): string {
  if (useBase64) return `=?UTF-8?B?${Buffer.from(text).toString('base64')}?=`;
  return `=?UTF-8?Q?${Array.from(text, quotedCharacter).join('')}?=`;
}

function quotedCharacter(character: string): string {
  if (character === ' ') return '_';
  if (PHRASE_SAFE.test(character)) return character;
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '=$&');
}
