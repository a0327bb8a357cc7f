/** The types of custom fields (decision D58), and their values: checks, and the text in which a value is stored. */
import { isOneLine, isPlainText } from '../../lib/text.ts';

/** One of the field's options. */
const ONE_CHOICE_TYPES = ['dropdown', 'radio'] as const;
/** Any number of the field's options. */
export const MANY_CHOICE_TYPES = ['multiselect', 'checkbox'] as const;
export const CHOICE_TYPES = [...ONE_CHOICE_TYPES, ...MANY_CHOICE_TYPES] as const;
export const FIELD_TYPES = ['text', 'textarea', 'number', 'date', 'datetime', ...CHOICE_TYPES] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

/** What decides whether a text is a value of the field. */
export interface FieldKind {
  readonly type: FieldType;
  /** The possible values of the types with choices; empty for others. */
  readonly options: readonly string[];
}

/** A text field holds a remark, not a document. */
export const FIELD_VALUE_MAX = 4_000;
/**
 * Between the values of a field with many choices, which are stored as one text: mails, REST and downloads show them like a
 * sentence. No option of such a field has a comma.
 */
const SEPARATOR = ', ';

const NUMBER = /^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?$/i;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})([T ](\d{2}):(\d{2})(:(\d{2})(\.\d{1,9})?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?$/i;
const DAY_LENGTH = '2026-12-31'.length;

/** Possible faults of a value, as the end of a sentence. */
export const FIELD_VALUE_FAULTS = {
  too_long: `may not be greater than ${FIELD_VALUE_MAX} characters`,
  control_characters: 'must not contain control characters',
  not_a_number: 'must be a number',
  not_a_date: 'must be a date such as 2026-12-31 or 2026-12-31 23:59:00',
  not_a_day: 'must be a date such as 2026-12-31',
  not_an_option: "must be one of the field's options",
  not_options: "must have only the field's options, separated by commas",
} as const;
export type FieldValueFault = keyof typeof FIELD_VALUE_FAULTS;

export type FieldValueResult =
  | { readonly value: string; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: FieldValueFault };

export function takesMany({ type }: Pick<FieldKind, 'type'>): boolean {
  return MANY_CHOICE_TYPES.some((many) => many === type);
}

export function hasOptions(type: FieldType): boolean {
  return CHOICE_TYPES.some((choice) => choice === type);
}

/** The parts of a field with many choices, in the stored text or as a caller writes them. */
export function choicesIn(text: string): string[] {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

/** One text of several choices. */
export function joinChoices(choices: readonly string[]): string {
  return choices.join(SEPARATOR);
}

/** A text that is not blank, as a value of this field; options are compared without case and stored as the field spells them. */
export function readFieldValue(field: FieldKind, text: string): FieldValueResult {
  if (text.length > FIELD_VALUE_MAX) return { fault: 'too_long' };
  const isText = field.type === 'text' || field.type === 'textarea';
  if (!(isText ? isPlainText : isOneLine)(text)) return { fault: 'control_characters' };
  if (isText) return { value: text };
  const value = text.trim();
  switch (field.type) {
    case 'number':
      return NUMBER.test(value) ? { value } : { fault: 'not_a_number' };
    case 'date':
      return value.length === DAY_LENGTH && isDateTime(value) ? { value } : { fault: 'not_a_day' };
    case 'datetime':
      return isDateTime(value) ? { value } : { fault: 'not_a_date' };
    case 'multiselect':
    case 'checkbox':
      return readChoices(field, value);
    default: {
      const option = optionOf(field, value);
      return option === undefined ? { fault: 'not_an_option' } : { value: option };
    }
  }
}

/** In the order of the options, each once. */
function readChoices(field: FieldKind, text: string): FieldValueResult {
  const chosen = choicesIn(text).map((part) => optionOf(field, part));
  if (chosen.includes(undefined)) return { fault: 'not_options' };
  return { value: joinChoices(field.options.filter((option) => chosen.includes(option))) };
}

/** The option as the field spells it. */
export function optionOf({ options }: Pick<FieldKind, 'options'>, text: string): string | undefined {
  const key = optionKey(text);
  return options.find((option) => optionKey(option) === key);
}

/** Options are compared by it. */
export function optionKey(text: string): string {
  return text.normalize('NFC').toLowerCase();
}

/** ISO 8601 in usual spellings; the day must exist. */
export function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (!parts) return false;
  const [, year, month, day, , hour = '0', minute = '0', , second = '0'] = parts;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year));
  const isDay = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return isDay && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 61;
}
