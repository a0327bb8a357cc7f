/** The fields of a list and of its contact: columns, and what callers may give. */
import { z } from 'zod';
import { checksOf } from '../../db/fields.ts';
import { typed } from '../../db/row.ts';
import type { Fields, RowOfFields, ValuesOf } from '../../db/fields.ts';
import { emailAddress, flag, isEmailAddress, multiLine, optionalLine, singleLine } from '../../lib/text.ts';
import { LANGUAGES, languageOf } from '../accounts/languages.ts';
import type { Change } from '../accounts/update-customer.ts';
import { countryByCode, countryOf } from './countries.ts';
import { frequencyCap, type FrequencyCap } from './frequency-cap.ts';
import { quietHours, timezoneName, type QuietHours } from './quiet-hours.ts';

/** When a public sign-up needs a captcha; `flood`: only while more people sign up for the list than usual. */
export const CAPTCHA_MODES = ['never', 'flood', 'always'] as const;
export type CaptchaMode = (typeof CAPTCHA_MODES)[number];

/** Names are shown in one line of a page and are used in List-Id and merge tags. */
export const LIST_NAME_MAX = 255;
/** RFC 5322, 2.1.1: no header line is longer than 998 characters. */
export const SUBJECT_MAX = 998;
/** Mail programs cut longer display names. */
const FROM_NAME_MAX = 255;
/** Shown above the footer: a paragraph. */
const REMIND_MESSAGE_MAX = 2_000;
/** One line of a postal address. */
const CONTACT_LINE_MAX = 255;
const PHONE_MAX = 64;
const ZIP_MAX = 32;
/** Tags of fields are shorter. */
const FIELD_TAG_MAX = 100;
/** The limit of browsers. */
const URL_MAX = 2_000;

/** Forms send 0 when nothing was chosen: it counts as missing. */
const countryId = z.preprocess(
  (id) => (id === 0 ? undefined : id),
  z
    .number()
    .refine((id) => countryOf(id) !== undefined, 'is not in the table of countries')
    .describe('A number of `countries`.'),
);

const optionalAddress = z
  .string()
  .trim()
  .refine((email) => email === '' || isEmailAddress(email), 'must be a valid email address');

const noCountryOr = z.preprocess((id) => id || null, countryId.nullable());

const webAddress = optionalLine(URL_MAX).refine(
  (url) => url === '' || isWebAddress(url),
  'must be a web address that begins with http:// or https://',
);

const LANGUAGE_CODES = LANGUAGES.map(({ code }) => code).join(', ');
const languageCode = z
  .string()
  .transform((code) => languageOf(code) ?? '')
  .refine((code) => code !== '', `must be one of ${LANGUAGE_CODES}`)
  .describe(`One of ${LANGUAGE_CODES}.`);

const optionalFlag = flag.nullish().transform((value) => value ?? undefined);

export const listFields = {
  name: { column: 'name', type: 'text', check: singleLine(LIST_NAME_MAX) },
  fromEmail: { column: 'from_email', type: 'text', check: emailAddress() },
  fromName: { column: 'from_name', type: 'text', check: singleLine(FROM_NAME_MAX) },
  defaultSubject: { column: 'default_subject', type: 'text', check: singleLine(SUBJECT_MAX) },
  remindMessage: {
    column: 'remind_message',
    type: 'text?',
    check: multiLine(REMIND_MESSAGE_MAX).nullish(),
  },
  subscribeConfirmation: { column: 'subscribe_confirmation', type: 'bool', check: optionalFlag },
  sendWelcomeEmail: { column: 'send_welcome_email', type: 'bool', check: optionalFlag },
  unsubscribeNotification: { column: 'unsubscribe_notification', type: 'bool', check: optionalFlag },
  sendGoodbyeEmail: { column: 'send_goodbye_email', type: 'bool', check: optionalFlag },
  publicSignup: { column: 'public_signup', type: 'bool', check: optionalFlag },
  showInPreferences: { column: 'show_in_preferences', type: 'bool', check: optionalFlag },
  signupCaptcha: {
    column: 'signup_captcha',
    type: typed<CaptchaMode>('text'),
    check: z
      .enum(CAPTCHA_MODES)
      .nullish()
      .transform((value) => value ?? undefined),
  },
} satisfies Fields;

const rgbColor = z
  .string()
  .trim()
  .toLowerCase()
  .regex(/^#[0-9a-f]{6}$/, 'must be a color as #rrggbb, for example #1f4fd8')
  .describe('`#rrggbb`, each r, g and b a hexadecimal digit.');

/** Its public pages; optional when it is made. */
const pageFields = {
  language: { column: 'language', type: 'text?', check: languageCode.nullable() },
  color: { column: 'color', type: 'text?', check: rgbColor.nullable() },
  /** Checked by `chooseLogo`. */
  logo: { column: 'logo', type: 'text?' },
} satisfies Fields;

/** When and how often the list's people get mail; optional when it is made. */
const timeFields = {
  timezone: { column: 'timezone', type: 'text?', check: timezoneName.nullable() },
  /** A field of the list; it may not exist yet. */
  timezoneTag: {
    column: 'timezone_tag',
    type: 'text?',
    check: singleLine(FIELD_TAG_MAX)
      .transform((tag) => tag.toUpperCase())
      .nullable(),
  },
  quietHours: { column: 'quiet_hours', type: typed<QuietHours>('json?'), check: quietHours.nullable() },
  frequencyCap: { column: 'frequency_cap', type: typed<FrequencyCap>('json?'), check: frequencyCap.nullable() },
} satisfies Fields;

const key = {
  customerId: { column: 'customer_id', type: 'bigint' },
  uid: { column: 'uid', type: 'text' },
} satisfies Fields;
export const newListFields = { ...key, ...listFields, ...timeFields, ...pageFields };
export const changedListFields = { ...listFields, ...timeFields, ...pageFields };

const { name, subscribeConfirmation, sendWelcomeEmail, signupCaptcha } = listFields;
/** The columns that verbs read of a list. */
export const mailListColumns = {
  ...key,
  id: { column: 'id', type: 'bigint' },
  name,
  /** Double opt-in: new people stay `pending` until the confirmation link is clicked. */
  subscribeConfirmation,
  sendWelcomeEmail,
  signupCaptcha,
} satisfies Fields;

export const contactFields = {
  company: { column: 'company', type: 'text', check: singleLine(CONTACT_LINE_MAX) },
  address1: { column: 'address_1', type: 'text', check: optionalLine(CONTACT_LINE_MAX) },
  address2: { column: 'address_2', type: 'text', check: optionalLine(CONTACT_LINE_MAX) },
  city: { column: 'city', type: 'text', check: optionalLine(CONTACT_LINE_MAX) },
  state: { column: 'state', type: 'text', check: optionalLine(CONTACT_LINE_MAX) },
  zip: { column: 'zip', type: 'text', check: optionalLine(ZIP_MAX) },
  phone: { column: 'phone', type: 'text', check: optionalLine(PHONE_MAX) },
  countryId: { column: 'country_id', type: 'int?', check: countryId },
  email: { column: 'email', type: 'text', check: emailAddress() },
  url: { column: 'url', type: 'text', check: webAddress },
} satisfies Fields;
export const newContactFields = {
  customerId: key.customerId,
  listId: { column: 'list_id', type: 'bigint' },
  ...contactFields,
} satisfies Fields;

/** Absent and null mean the empty text. */
function emptyOr<Check extends z.ZodType<string>>(check: Check) {
  return check.nullish().transform((value) => value ?? '');
}

const checks = checksOf(listFields);
const contact = checksOf(contactFields);
/** The checks of a contact's fields, and of the code that stands for the number. */
export const contactChecks = { ...contact, countryCode: z.string().describe('A code of two or three letters.') };
const needed = z.string().min(1);

const contactWhole = z.object({
  ...contact,
  address1: contact.address1.pipe(needed),
  address2: emptyOr(contact.address2),
  city: contact.city.pipe(needed),
  state: contact.state.pipe(needed),
  zip: contact.zip.pipe(needed),
  phone: contact.phone.pipe(needed),
  url: emptyOr(contact.url),
});
/** In the classic dialect (D49) everything may be empty; what is given is checked. A campaign needs more (campaign-readiness.ts). */
const contactBrief = z.object({
  company: emptyOr(optionalLine(CONTACT_LINE_MAX)),
  address1: emptyOr(contact.address1),
  address2: emptyOr(contact.address2),
  city: emptyOr(contact.city),
  state: emptyOr(contact.state),
  zip: emptyOr(contact.zip),
  phone: emptyOr(contact.phone),
  countryId: noCountryOr,
  email: emptyOr(optionalAddress),
  url: emptyOr(contact.url),
});

const { timezone, timezoneTag, quietHours: quiet, frequencyCap: cap } = checksOf(timeFields);
const { language, color } = checksOf(pageFields);
const times = {
  timezone: timezone.optional(),
  timezoneTag: timezoneTag.optional(),
  quietHours: quiet.optional(),
  frequencyCap: cap.optional(),
};
const options = { ...times, language: language.optional(), color: color.optional() };

export const createListInput = z.object({ ...checks, ...options, contact: contactWhole });
export const createListInputClassic = z.object({
  ...checks,
  ...options,
  defaultSubject: emptyOr(optionalLine(SUBJECT_MAX)),
  contact: contactBrief,
});
export const updateListInput = z.object({ ...checks, ...options, contact: z.object(contact).partial() }).partial();
export const updateListInputClassic = z
  .object({ ...checks, ...options, defaultSubject: optionalLine(SUBJECT_MAX), contact: contactBrief.partial() })
  .partial();

/** Of a customer's contact every field is optional. */
export const customerContactInput = z.object({ contact: z.object(contact).partial() });

/** Input of callers; missing values are found when it is parsed. */
type Given<T> = { readonly [Name in keyof T]?: T[Name] | null | undefined };
type UpdateFields = z.input<typeof updateListInput>;
export type ListContactGiven = Given<NonNullable<UpdateFields['contact']>> & {
  /** ISO 3166-1, alpha-2 or alpha-3, in place of the number. */
  readonly countryCode?: string | null | undefined;
};
export type UpdateListInput = Given<Omit<UpdateFields, 'contact'> & { readonly contact?: ListContactGiven }> & {
  /** The contact may be empty, and the default subject, too. */
  readonly briefContact?: boolean | null | undefined;
  /** The place of the logo (`chooseLogo`): its faults are told with the others. */
  readonly logo?: Change<string>;
};
export type CreateListInput = UpdateListInput;

export type MailList = RowOfFields<typeof mailListColumns>;
export type ListContact = RowOfFields<typeof contactFields>;
export type ListChanges = ValuesOf<typeof changedListFields>;

/** The input with the number of a country in place of its code; an unknown code is no number of a country. */
export function withCountryNumber<Input extends UpdateListInput>(input: Input): Input {
  const { countryCode, ...contact } = input.contact ?? {};
  if (!countryCode?.trim()) return input;
  return { ...input, contact: { ...contact, countryId: countryByCode(countryCode)?.id ?? NO_COUNTRY } };
}

/** Not in the table. */
const NO_COUNTRY = -1;

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//i.test(text);
}
