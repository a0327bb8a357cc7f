/**
 * The upper-case merge tags (`{FIRST_NAME}`) and their values. Names that are neither built in nor a field of the list are no
 * tags and stay as they are, so that CSS in braces survives.
 */
import { escapeHtml } from '../../lib/html.ts';
import { cleanText, escapeFor, type Escape } from './escape.ts';
import { addressSlot, type FillScope, type Segment } from './fill-scope.ts';
import type { FieldValue, MessageSource } from './message.ts';

type Reader = (scope: FillScope) => string;

/** Values that a message's author may name; constants are texts, the rest is read per recipient. */
export type TagValues = ReadonlyMap<string, string | Reader>;

/** Tags whose values are our own addresses: trusted, never percent-encoded at the beginning of an attribute. */
const SYSTEM_LINKS = {
  UNSUBSCRIBE_URL: 'unsubscribe',
  WEB_VIEW_URL: 'webView',
  UPDATE_PROFILE_URL: 'updateProfile',
} as const;

const SYSTEM_URLS: Readonly<Record<string, Reader>> = Object.fromEntries(
  Object.entries(SYSTEM_LINKS).map(([tag, kind]): [string, Reader] => [
    tag,
    ({ recipient }) => recipient.links[kind](),
  ]),
);

/** In mails that a list sends automatically; in a campaign there is nothing to confirm. */
const CONFIRM_URL: Readonly<Record<string, Reader>> = {
  CONFIRM_URL: (scope) => scope.recipient.links.confirm?.() ?? '',
};

const DATES: Readonly<Record<string, Reader>> = {
  CURRENT_YEAR: (scope) => scope.now.toISOString().slice(0, 4),
  CURRENT_MONTH: (scope) => scope.now.toISOString().slice(5, 7),
  CURRENT_DAY: (scope) => scope.now.toISOString().slice(8, 10),
  CURRENT_DATE: (scope) => scope.now.toISOString().slice(0, 10),
};

const RECIPIENT: Readonly<Record<string, Reader>> = {
  EMAIL: (scope) => scope.recipient.email,
  SUBSCRIBER_EMAIL: (scope) => scope.recipient.email,
  SUBSCRIBER_UID: (scope) => scope.recipient.uid,
};

export function isSystemUrl(tag: string): boolean {
  return Object.hasOwn(SYSTEM_URLS, tag) || Object.hasOwn(CONFIRM_URL, tag);
}

/** All tags of one message. A field is also called `SUBSCRIBER_<TAG>`; built-in names win. */
export function tagValues(source: MessageSource): TagValues {
  const fields: Record<string, Reader> = {};
  for (const [tag, fallback] of Object.entries(source.fieldDefaults)) {
    const read: Reader = (scope) => fieldText(scope.recipient.fields[tag], fallback);
    fields[tag] = read;
    fields[`SUBSCRIBER_${tag}`] = read;
  }
  const ofPlugins = Object.entries(source.pluginTags ?? {}).map(([tag, fallback]): [string, Reader] => [
    tag,
    ({ recipient }) => recipient.pluginValues?.[tag] ?? fallback,
  ]);
  const urls = source.kind === 'transactional' ? { ...SYSTEM_URLS, ...CONFIRM_URL } : SYSTEM_URLS;
  const all = { ...Object.fromEntries(ofPlugins), ...fields, ...constantTags(source), ...DATES, ...urls, ...RECIPIENT };
  return new Map<string, string | Reader>(Object.entries(all));
}

/** A field's value as text; its default where there is none. */
function fieldText(value: FieldValue | undefined, fallback: string): string {
  return value === undefined || value === null || value === '' ? fallback : String(value);
}

/** The segment that puts `tag` into a place; a constant is escaped now, once. */
export function tagSegment(values: TagValues, tag: string, escape: Escape): Segment {
  const value = values.get(tag);
  if (value === undefined) return '';
  if (typeof value === 'string') return escapeFor(escape, value);
  const link = isSharedUrl(tag) ? { kind: SYSTEM_LINKS[tag] } : undefined;
  const whole = ADDRESS_ESCAPES[escape];
  if (link && whole) return addressSlot(link, whole, value);
  if (escape === 'urlStart' && isSystemUrl(tag)) return (scope) => escapeHtml(value(scope));
  return (scope) => escapeFor(escape, value(scope));
}

function isSharedUrl(tag: string): tag is keyof typeof SYSTEM_LINKS {
  return Object.hasOwn(SYSTEM_LINKS, tag);
}

/** Escapes under which our own address stays as it is. */
const ADDRESS_ESCAPES: Readonly<Partial<Record<Escape, (text: string) => string>>> = {
  html: (text) => escapeHtml(cleanText(text)),
  urlStart: escapeHtml,
  plain: cleanText,
};

function constantTags(source: MessageSource): Record<string, string> {
  const { contact } = source.list;
  return {
    CAMPAIGN_NAME: source.campaign.name,
    CAMPAIGN_UID: source.campaign.uid,
    CAMPAIGN_FROM_NAME: source.from.name,
    CAMPAIGN_FROM_EMAIL: source.from.email,
    CAMPAIGN_REPLY_TO: source.replyTo ?? source.from.email,
    LIST_NAME: source.list.name,
    LIST_UID: source.list.uid,
    CONTACT_NAME: contact.company,
    CONTACT_COMPANY: contact.company,
    CONTACT_ADDRESS_1: contact.address1,
    CONTACT_ADDRESS_2: contact.address2,
    CONTACT_CITY: contact.city,
    CONTACT_STATE: contact.state,
    CONTACT_ZIP: contact.zip,
    CONTACT_COUNTRY: contact.country,
    CONTACT_PHONE: contact.phone,
    CONTACT_EMAIL: contact.email,
    CONTACT_URL: contact.url,
  };
}
