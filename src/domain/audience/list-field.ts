/** A custom field of a list (decisions D16, D58): its tag is the key of a value and the merge tag that shows it. */
import { z } from 'zod';
import { row, type RowOf, typed } from '../../db/database.ts';
import type { FieldErrors } from '../../lib/errors.ts';
import { flag, multiLine, singleLine } from '../../lib/text.ts';
import {
  FIELD_TYPES,
  FIELD_VALUE_FAULTS,
  FIELD_VALUE_MAX,
  hasOptions,
  optionKey,
  readFieldValue,
  takesMany,
  type FieldType,
} from './field-value.ts';

export const LIST_FIELD_ROW = row({
  id: 'bigint',
  uid: 'text',
  type: typed<FieldType>('text'),
  label: 'text',
  tag: 'text',
  defaultValue: 'text?',
  required: 'bool',
  visible: 'bool',
  customOrder: 'int?',
  options: 'text[]',
});
export type ListField = RowOf<typeof LIST_FIELD_ROW>;

/** Every subscriber has its values in one row: this limits the row. */
export const LIST_FIELDS_MAX = 100;
const LABEL_MAX = 255;
const TAG_MAX = 64;
/** More are not chosen from by hand; each mail of a rule's count reads them. */
export const FIELD_OPTIONS_MAX = 100;
const OPTION_MAX = 100;
/** The type of the column. */
const CUSTOM_ORDER_MAX = 2_147_483_647;

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

const settings = z.object({
  type: z.enum(FIELD_TYPES),
  label: singleLine(LABEL_MAX),
  defaultValue: multiLine(FIELD_VALUE_MAX)
    .nullish()
    .transform((text) => text || null),
  required: flag.nullish().transform((required) => required ?? false),
  visible: flag.nullish().transform((visible) => visible ?? true),
  customOrder: z
    .int()
    .min(0)
    .max(CUSTOM_ORDER_MAX)
    .nullish()
    .transform((order) => order ?? null),
  options: z
    .array(singleLine(OPTION_MAX))
    .max(FIELD_OPTIONS_MAX)
    .nullish()
    .transform((options) => options ?? []),
});

const tag = singleLine(TAG_MAX)
  .transform((text) => text.toUpperCase())
  .refine((text) => /^[A-Z0-9_]+$/.test(text), 'may hold only letters A to Z, digits and underscores')
  .refine((text) => !isTakenTag(text), 'is the name of a built-in merge tag');

/** What names a field. */
export const fieldRefInput = z.string().describe(`A uid, or a tag of at most ${TAG_MAX} characters.`);

export const addListFieldInput = settings.extend({ tag });
/** Absent values stay. */
export const updateListFieldInput = settings.extend({ tag: z.string().max(TAG_MAX).trim().toUpperCase() }).partial();

export type FieldSettings = z.output<typeof settings>;

/** Input of callers. */
export interface UpdateListFieldInput {
  readonly type?: string | null | undefined;
  readonly label?: string | null | undefined;
  /** Cannot be changed; the same is accepted. */
  readonly tag?: string | null | undefined;
  readonly defaultValue?: string | null | undefined;
  readonly required?: boolean | null | undefined;
  readonly visible?: boolean | null | undefined;
  readonly customOrder?: number | null | undefined;
  readonly options?: readonly string[] | null | undefined;
}
export type AddListFieldInput = UpdateListFieldInput & {
  readonly type: string;
  readonly label: string;
  readonly tag: string;
};

/** What is wrong about settings that are each valid but not together: by name. */
export function settingsFaults({ type, options, defaultValue }: FieldSettings): FieldErrors {
  const errors: Record<string, string[]> = {};
  const fault = optionsFault(type, options);
  if (fault !== undefined) errors['options'] = [`The options ${fault}.`];
  else if (defaultValue !== null && defaultValue.trim() !== '') {
    const { fault: wrong } = readFieldValue({ type, options }, defaultValue);
    if (wrong !== undefined) errors['defaultValue'] = [`The default value ${FIELD_VALUE_FAULTS[wrong]}.`];
  }
  return errors;
}

/** Settings without faults, with the default as such a value is stored. */
export function withStoredDefault<Settings extends FieldSettings>(settings: Settings): Settings {
  const text = settings.defaultValue?.trim() ? settings.defaultValue : null;
  return { ...settings, defaultValue: text === null ? null : (readFieldValue(settings, text).value ?? null) };
}

function optionsFault(type: FieldType, options: readonly string[]): string | undefined {
  if (!hasOptions(type)) return options.length > 0 ? `do not belong to a field of the type ${type}` : undefined;
  if (options.length === 0) return `are required for the type ${type}: give at least one`;
  if (new Set(options.map(optionKey)).size < options.length) return 'must differ from each other, not only by case';
  const comma = options.find((option) => option.includes(','));
  if (takesMany({ type }) && comma !== undefined)
    return `must not contain commas, because commas separate the values of a ${type}: “${comma}”`;
  return undefined;
}
