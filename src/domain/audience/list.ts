/**
 * A mailing list: an audience with its own sender identity, its contact and its opt-in rule. Types, limits and the
 * checks of its input; who is on it is the business of `subscriber.ts`.
 */
import { z } from 'zod';
import { emailAddress, flag, multiLine, optionalLine, singleLine } from '../../lib/text.ts';
import { countryOf } from './countries.ts';
import { quietHours, timezoneName, type QuietHoursInput } from './quiet-hours.ts';

export interface MailList {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly uid: string;
  readonly name: string;
  /** Double opt-in: who is added stays `pending` until the confirmation link is clicked. */
  readonly subscribeConfirmation: boolean;
  readonly sendWelcomeEmail: boolean;
}

/** Names are shown in one line of a page and go into List-Id and merge tags. */
export const LIST_NAME_MAX = 255;
/** RFC 5322, 2.1.1: no header line is longer than 998 characters. */
export const SUBJECT_MAX = 998;
/** A display name beyond this is cut by every mail program. */
const FROM_NAME_MAX = 255;
/** Shown above the footer: a paragraph. */
const REMIND_MESSAGE_MAX = 2_000;
/** One line of a postal address. */
const CONTACT_LINE_MAX = 255;
const PHONE_MAX = 64;
const ZIP_MAX = 32;
/** Tags of fields are shorter. */
const FIELD_TAG_MAX = 100;
/** What browsers take. */
const URL_MAX = 2_000;

/** 0 is what forms send when nothing was chosen: it counts as missing. */
const countryId = z.preprocess(
  (id) => (id === 0 ? undefined : id),
  z.number().refine((id) => countryOf(id) !== undefined, 'is not in the table of countries'),
);

const webAddress = optionalLine(URL_MAX).refine(
  (url) => url === '' || isWebAddress(url),
  'must be a web address that begins with http:// or https://',
);

/** Absent and null are the empty text. */
function emptyOr<Schema extends z.ZodType<string>>(schema: Schema) {
  return schema.nullish().transform((text) => text ?? '');
}

/** What the classic dialect demands of a contact (D14); the rest may be empty. */
const contactBrief = {
  company: singleLine(CONTACT_LINE_MAX),
  countryId,
  email: emailAddress(),
  address1: emptyOr(optionalLine(CONTACT_LINE_MAX)),
  address2: emptyOr(optionalLine(CONTACT_LINE_MAX)),
  city: emptyOr(optionalLine(CONTACT_LINE_MAX)),
  state: emptyOr(optionalLine(CONTACT_LINE_MAX)),
  zip: emptyOr(optionalLine(ZIP_MAX)),
  phone: emptyOr(optionalLine(PHONE_MAX)),
  url: emptyOr(webAddress),
};

const contactWhole = {
  ...contactBrief,
  address1: singleLine(CONTACT_LINE_MAX),
  city: singleLine(CONTACT_LINE_MAX),
  state: singleLine(CONTACT_LINE_MAX),
  zip: singleLine(ZIP_MAX),
  phone: singleLine(PHONE_MAX),
};

const metadata = {
  name: singleLine(LIST_NAME_MAX),
  fromEmail: emailAddress(),
  fromName: singleLine(FROM_NAME_MAX),
  defaultSubject: singleLine(SUBJECT_MAX),
};

const flagOrDefault = flag.nullish().transform((value) => value ?? undefined);
const options = {
  remindMessage: multiLine(REMIND_MESSAGE_MAX).nullish(),
  subscribeConfirmation: flagOrDefault,
  sendWelcomeEmail: flagOrDefault,
  unsubscribeNotification: flagOrDefault,
  sendGoodbyeEmail: flagOrDefault,
  publicSignup: flagOrDefault,
};

export const createListInput = z.object({ ...metadata, ...options, contact: z.object(contactWhole) });
export const createListInputClassic = createListInput.extend({ contact: z.object(contactBrief) });

/** When the list's people are written to. */
const times = {
  timezone: timezoneName.nullable(),
  /** Of a field of the list; one that is not there yet is nobody's. */
  timezoneTag: singleLine(FIELD_TAG_MAX)
    .transform((tag) => tag.toUpperCase())
    .nullable(),
  quietHours: quietHours.nullable(),
};

export const updateListInput = z
  .object({ ...metadata, ...options, ...times, contact: z.object(withoutDefaults()).partial() })
  .partial();

type Given<T> = { readonly [Name in keyof T]?: T[Name] | null | undefined };

/** As callers give it; what is missing is found when it is parsed. */
export type ListContactGiven = Given<{
  company: string;
  address1: string;
  address2: string;
  city: string;
  state: string;
  zip: string;
  phone: string;
  countryId: number;
  email: string;
  url: string;
}>;

export type UpdateListInput = Given<{
  name: string;
  fromEmail: string;
  fromName: string;
  defaultSubject: string;
  remindMessage: string;
  subscribeConfirmation: boolean;
  sendWelcomeEmail: boolean;
  unsubscribeNotification: boolean;
  sendGoodbyeEmail: boolean;
  publicSignup: boolean;
  contact: ListContactGiven;
  timezone: string;
  timezoneTag: string;
  quietHours: QuietHoursInput;
}>;

export type CreateListInput = UpdateListInput & { readonly briefContact?: boolean | null | undefined };
export type ListContact = z.output<typeof createListInputClassic>['contact'];

/** A change names only what changes: absent must stay absent. */
function withoutDefaults() {
  const line = optionalLine(CONTACT_LINE_MAX);
  return {
    company: contactBrief.company,
    countryId,
    email: emailAddress(),
    address1: line,
    address2: line,
    city: line,
    state: line,
    zip: optionalLine(ZIP_MAX),
    phone: optionalLine(PHONE_MAX),
    url: webAddress,
  };
}

function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:\/\//i.test(text);
}
