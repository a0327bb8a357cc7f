/** A custom field of a list (decision D16): its tag is the key of a value and the merge tag that shows it. */
import { z } from 'zod';
import { row, type RowOf, typed } from '../../db/database.ts';
import { flag, isOneLine, isPlainText, multiLine, singleLine } from '../../lib/text.ts';

export const FIELD_TYPES = ['text', 'number', 'datetime'] as const;
export type FieldType = (typeof FIELD_TYPES)[number];

export const LIST_FIELD_ROW = row({
  id: 'bigint',
  uid: 'text',
  type: typed<FieldType>('text'),
  label: 'text',
  tag: 'text',
  defaultValue: 'text?',
  required: 'bool',
});
export type ListField = RowOf<typeof LIST_FIELD_ROW>;

/** Every subscriber has its values in one row: this limits the row. */
export const LIST_FIELDS_MAX = 100;
const LABEL_MAX = 255;
const TAG_MAX = 64;
/** A text field holds a remark, not a document. */
export const FIELD_VALUE_MAX = 4_000;

/** Names with another meaning in messages: built-in merge tags, and the address itself. */
const TAKEN_TAGS: ReadonlySet<string> = new Set([
  ...['EMAIL', 'UID', 'STATUS', 'TAGS', 'LIST_NAME', 'LIST_UID', 'LIST_SUBJECT', 'UNSUBSCRIBE_URL', 'UNSUBSCRIBE_LINK'],
  ...['WEB_VIEW_URL', 'UPDATE_PROFILE_URL', 'CAMPAIGN_NAME', 'CAMPAIGN_UID', 'CAMPAIGN_SUBJECT', 'CAMPAIGN_FROM_NAME'],
  ...[
    'CAMPAIGN_FROM_EMAIL',
    'CAMPAIGN_REPLY_TO',
    'CONTACT_NAME',
    'CONTACT_COMPANY',
    'CONTACT_ADDRESS_1',
    'CONTACT_ADDRESS_2',
  ],
  ...[
    'CONTACT_CITY',
    'CONTACT_STATE',
    'CONTACT_ZIP',
    'CONTACT_PHONE',
    'CONTACT_COUNTRY',
    'CONTACT_EMAIL',
    'CONTACT_URL',
  ],
  ...['CURRENT_YEAR', 'CURRENT_MONTH', 'CURRENT_DAY', 'CURRENT_DATE'],
]);
/** In messages a field TAG is also called SUBSCRIBER_TAG, so no field may begin so. */
const TAKEN_PREFIX = 'SUBSCRIBER_';

export function isTakenTag(tag: string): boolean {
  return TAKEN_TAGS.has(tag) || tag.startsWith(TAKEN_PREFIX);
}

export const addListFieldInput = z.object({
  type: z.enum(FIELD_TYPES),
  label: singleLine(LABEL_MAX),
  tag: singleLine(TAG_MAX)
    .transform((tag) => tag.toUpperCase())
    .refine((tag) => /^[A-Z0-9_]+$/.test(tag), 'may hold only letters A to Z, digits and underscores')
    .refine((tag) => !isTakenTag(tag), 'is the name of a built-in merge tag'),
  defaultValue: multiLine(FIELD_VALUE_MAX)
    .nullish()
    .transform((text) => text || null),
  required: flag.nullish().transform((required) => required ?? false),
});

/** Input of callers. */
export interface AddListFieldInput {
  readonly type: string;
  readonly label: string;
  readonly tag: string;
  readonly defaultValue?: string | null | undefined;
  readonly required?: boolean | null | undefined;
}

const NUMBER = /^[+-]?(\d{1,30}(\.\d{0,30})?|\.\d{1,30})(e[+-]?\d{1,3})?$/i;
const DATE_TIME =
  /^(\d{4})-(\d{2})-(\d{2})([T ](\d{2}):(\d{2})(:(\d{2})(\.\d{1,9})?)?( ?(Z|UTC|[+-]\d{2}:?\d{2}))?)?$/i;

/** Possible faults of a value, as the end of a sentence. */
export const FIELD_VALUE_FAULTS = {
  too_long: `may not be greater than ${FIELD_VALUE_MAX} characters`,
  control_characters: 'must not contain control characters',
  not_a_number: 'must be a number',
  not_a_date: 'must be a date such as 2026-12-31 or 2026-12-31 23:59:00',
} as const;
export type FieldValueFault = keyof typeof FIELD_VALUE_FAULTS;

/** The fault of `value` as a value of this type; undefined when it is valid. */
export function fieldValueFault(type: FieldType, value: string): FieldValueFault | undefined {
  if (value.length > FIELD_VALUE_MAX) return 'too_long';
  if (!(type === 'text' ? isPlainText : isOneLine)(value)) return 'control_characters';
  if (type === 'number' && !NUMBER.test(value.trim())) return 'not_a_number';
  if (type === 'datetime' && !isDateTime(value.trim())) return 'not_a_date';
  return undefined;
}

/** ISO 8601 in usual spellings; the day must exist. */
function isDateTime(text: string): boolean {
  const parts = DATE_TIME.exec(text);
  if (!parts) return false;
  const [, year, month, day, , hour = '0', minute = '0', , second = '0'] = parts;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  date.setUTCFullYear(Number(year));
  const isDay = date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
  return isDay && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 61;
}
