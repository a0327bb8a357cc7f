/**
 * The words of the public pages, from one message file for each language (`messages/<code>.json`, ICU MessageFormat). A test
 * compares the files and looks for words that stand in the code instead.
 */
import { IntlMessageFormat } from 'intl-messageformat';
import type { LanguageCode } from '../domain/accounts/languages.ts';
import ar from './messages/ar.json' with { type: 'json' };
import de from './messages/de.json' with { type: 'json' };
import en from './messages/en.json' with { type: 'json' };
import es from './messages/es.json' with { type: 'json' };
import fr from './messages/fr.json' with { type: 'json' };

export type MessageKey = keyof typeof en;
export type MessageValues = Readonly<Record<string, string | number>>;

export const MESSAGES: Readonly<Record<LanguageCode, Readonly<Record<MessageKey, string>>>> = { en, de, es, fr, ar };

const RIGHT_TO_LEFT: readonly LanguageCode[] = ['ar'];
/** Letters of Hebrew, Arabic and their neighbours. */
const RIGHT_TO_LEFT_LETTER = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;
/** Unicode's isolates: the text between them does not change the order of the words around it. */
const [ISOLATED, END_OF_ISOLATED] = ['\u2068', '\u2069'];

export class Words {
  readonly language: LanguageCode;
  readonly direction: 'ltr' | 'rtl';
  readonly #formats = new Map<MessageKey, IntlMessageFormat>();

  constructor(language: LanguageCode) {
    this.language = language;
    this.direction = RIGHT_TO_LEFT.includes(language) ? 'rtl' : 'ltr';
  }

  /** The message as plain text, to be escaped by the page. Names in another direction are isolated. */
  text(key: MessageKey, values: MessageValues = {}): string {
    const isolated = Object.entries(values).map(
      ([name, value]) => [name, typeof value === 'string' ? this.#isolate(value) : value] as const,
    );
    return String(this.#formatOf(key).format(Object.fromEntries(isolated)));
  }

  /** A day, written out. */
  date(at: Date): string {
    return new Intl.DateTimeFormat(this.language, { dateStyle: 'long', timeZone: 'UTC' }).format(at);
  }

  #isolate(text: string): string {
    const mixes = this.direction === 'rtl' || RIGHT_TO_LEFT_LETTER.test(text);
    return mixes ? `${ISOLATED}${text}${END_OF_ISOLATED}` : text;
  }

  /** Parsed at the first use: a process shows few of them. */
  #formatOf(key: MessageKey): IntlMessageFormat {
    const known = this.#formats.get(key);
    if (known) return known;
    const format = new IntlMessageFormat(MESSAGES[this.language][key], this.language, undefined, { ignoreTag: true });
    this.#formats.set(key, format);
    return format;
  }
}

const words: Readonly<Record<LanguageCode, Words>> = {
  en: new Words('en'),
  de: new Words('de'),
  es: new Words('es'),
  fr: new Words('fr'),
  ar: new Words('ar'),
};

export function wordsIn(language: LanguageCode): Words {
  return words[language];
}
