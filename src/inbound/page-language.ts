/**
 * The language of a public page. A page of a list: the list's, else its customer's, else the first that the reader's browser asks
 * for, else English. Any other page: the browser's, else English.
 */
import type { IncomingMessage } from 'node:http';
import { languageOf, languageWithId, type LanguageCode } from '../domain/accounts/languages.ts';
import { wordsIn, type Words } from './words.ts';

const DEFAULT_LANGUAGE: LanguageCode = 'en';
/** Browsers name a few languages; the rest of a longer header is not read. */
const HEADER_LENGTH_MAX = 500;

export interface ListLanguage {
  /** The list's own. */
  readonly language: string | null;
  readonly customerLanguageId: number | null;
}

/** For pages of a list. */
export function wordsOfList({ language, customerLanguageId }: ListLanguage, req: IncomingMessage): Words {
  const chosen = language === null ? undefined : languageOf(language);
  const code = chosen ?? languageWithId(customerLanguageId);
  return code ? wordsIn(code) : wordsOfReader(req);
}

/** For other pages: the best of the `Accept-Language` header (RFC 9110, 12.5.4) that there is a translation for. */
export function wordsOfReader({ headers }: IncomingMessage): Words {
  const ranges = (headers['accept-language'] ?? '').slice(0, HEADER_LENGTH_MAX).split(',').map(rangeOf);
  let best: { readonly code: LanguageCode; readonly weight: number } | undefined;
  for (const { code, weight } of ranges)
    if (code && weight > 0 && weight > (best?.weight ?? 0)) best = { code, weight };
  return wordsIn(best?.code ?? DEFAULT_LANGUAGE);
}

/** `fr-CH;q=0.8`: the language and its weight, 1 if none is given. */
function rangeOf(text: string): { code: LanguageCode | undefined; weight: number } {
  const [tag = '', ...parameters] = text.split(';');
  const [primary = ''] = tag.trim().split('-');
  const given = parameters.find((parameter) => /^\s*q\s*=/i.test(parameter));
  const weight = given === undefined ? 1 : Number(given.slice(given.indexOf('=') + 1));
  return { code: languageOf(primary), weight: Number.isFinite(weight) ? weight : 0 };
}
