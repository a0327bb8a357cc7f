/** The translations of a plugin, checked when they are added: whoever translates learns of a mistake before anybody sees it. */
import { IntlMessageFormat } from 'intl-messageformat';
import { z } from 'zod';
import { messageOf } from '../lib/errors.ts';
import { checkBy, EntryError, type EntryCheck, type Giver } from './entry-check.ts';
import { MESSAGE_KEY } from './page-checks.ts';
import { readPluginFile } from './plugin-files.ts';

/** The public pages of the product have about 15 KB in a language. */
const FILE_BYTES_MAX = 200_000;
const MESSAGES_MAX = 2_000;
const MESSAGE_LENGTH_MAX = 5_000;
const LANGUAGE_LENGTH_MAX = 35;
/** So many faults of a file are told. */
const FAULTS_MAX = 5;

const shape = z.strictObject({
  language: z.string().max(LANGUAGE_LENGTH_MAX).refine(isLanguage, 'must be a language tag such as de or pt-BR'),
  file: z.string().max(200).optional(),
  texts: z.record(z.string(), z.unknown()).optional(),
});

/** Keeps the texts of the file with the entry. */
export const checkTranslationFile: EntryCheck = checkBy(shape, (entry, giver) => {
  const { language, file, texts } = entry;
  if ((file === undefined) === (texts === undefined)) throw new EntryError('It needs either "file" or "texts".');
  const given: unknown = file === undefined ? texts : readTexts(giver, file);
  return { ...entry, texts: checkedTexts(given, language, file ?? 'texts') };
});

function readTexts(giver: Giver, file: string): unknown {
  const text = readPluginFile(giver, { below: 'resources/lang', file, bytesMax: FILE_BYTES_MAX });
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new EntryError(`The file ${file} is not valid JSON: ${messageOf(error)}.`);
  }
}

function checkedTexts(given: unknown, language: string, where: string): Readonly<Record<string, string>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new EntryError(`${where}: must be an object of keys and texts.`);
  const entries = Object.entries(given);
  if (entries.length > MESSAGES_MAX) throw new EntryError(`${where}: may have at most ${MESSAGES_MAX} texts.`);
  const faults = entries.flatMap(([key, text]) => {
    const fault = faultOfMessage(key, text, language);
    return fault === undefined ? [] : [`${where}, "${key.slice(0, 100)}": ${fault}.`];
  });
  if (faults.length > 0) throw new EntryError(faults.slice(0, FAULTS_MAX).join(' '));
  return Object.fromEntries(entries.map(([key, text]) => [key, String(text)]));
}

function faultOfMessage(key: string, text: unknown, language: string): string | undefined {
  if (!MESSAGE_KEY.test(key)) return 'a key has letters, digits, "_", "." and "-", at most 100';
  if (typeof text !== 'string') return 'must be a text';
  if (text.length > MESSAGE_LENGTH_MAX) return `may have at most ${MESSAGE_LENGTH_MAX} characters`;
  try {
    void new IntlMessageFormat(text, language, undefined, { ignoreTag: true });
    return undefined;
  } catch (error) {
    return `is no valid ICU message (${messageOf(error)})`;
  }
}

function isLanguage(tag: string): boolean {
  try {
    return Intl.getCanonicalLocales(tag).length === 1;
  } catch {
    return false;
  }
}
