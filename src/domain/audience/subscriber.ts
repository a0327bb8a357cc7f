/** A person on a list: states, limits and checks of input. One row per address and list (decision D20). */
import { z } from 'zod';
import type { RowOfFields } from '../../db/fields.ts';
import { EMAIL_BYTES_MAX, emailAddress, isOneLine } from '../../lib/text.ts';
import type { subscriberColumns } from './subscriber-fields.ts';

/** Statuses that a caller may set: `pending` comes only with a confirmation mail (D18). */
export const SETTABLE_STATUSES = ['subscribed', 'unsubscribed', 'unconfirmed'] as const;

export interface Subscriber extends RowOfFields<typeof subscriberColumns> {
  /** The tags of the list's fields, if the row was read with them. */
  readonly fieldTags?: readonly string[];
}

/** The entry point of a change of consent, which is kept in the history. */
export type ConsentSource =
  | 'api'
  | 'form'
  | 'confirmation'
  | 'link'
  | 'one-click'
  | 'mail'
  | 'vendor'
  | 'undo'
  | 'complaint'
  | 'expiry'
  | 'flow'
  /** To another list. */
  | 'move'
  | `import:${string}`;

/** How long a confirmation link is valid (D17). */
export const CONFIRMATION_DAYS = 14;

/** A word or two; a longer text belongs in a field. */
export const TAG_LENGTH_MAX = 100;
/** All tags are in the subscriber's row, which every page of a list reads. */
export const TAGS_MAX = 100;

/** Tags as callers write them: each may hold several, separated by commas; empty ones are dropped (D19). */
export const tagsInput = z
  .array(z.string())
  .transform((texts) => distinctTags(texts.flatMap((text) => text.split(',')).map((tag) => tag.trim())))
  .refine((tags) => tags.every(isOneLine), 'must not contain line breaks or control characters')
  .refine(
    (tags) => tags.every((tag) => tag.length <= TAG_LENGTH_MAX),
    `may not be longer than ${TAG_LENGTH_MAX} characters each`,
  )
  .refine((tags) => tags.length <= TAGS_MAX, `may not be more than ${TAGS_MAX}`)
  .describe(`At most ${TAGS_MAX} tags of at most ${TAG_LENGTH_MAX} characters. A comma separates tags.`);

/** What names a subscriber; another text names nobody. */
export const subscriberRefInput = z
  .string()
  .describe(`A uid, an id or an address of at most ${EMAIL_BYTES_MAX} bytes.`);

/** Names a subscriber: a uid, an id or an address; an address on several lists needs the list (D7). */
export interface SubscriberRef {
  readonly subscriber: string;
  readonly listUid?: string | null | undefined;
}

const anyIpAddress = z.union([z.ipv4(), z.ipv6()]);
const ipAddressInput = z
  .string()
  .trim()
  .refine((text) => anyIpAddress.safeParse(text).success, 'must be an IPv4 or IPv6 address')
  .describe('An IPv4 or IPv6 address.');

export const signUpInput = z.object({ EMAIL: emailAddress() });

export const addSubscriberInput = signUpInput.extend({
  tags: tagsInput,
  /** An absent status is no wish: the list's rule for new people decides (D48). */
  status: z
    .enum(SETTABLE_STATUSES)
    .nullish()
    .transform((status) => status ?? 'subscribed'),
  ipAddress: ipAddressInput.nullish().transform((address) => address ?? null),
});

export const updateSubscriberInput = z
  .object({ EMAIL: emailAddress(), tags: tagsInput, status: z.enum(SETTABLE_STATUSES) })
  .partial();

/** Tags are compared without case: the same key is the same tag. */
export function tagKey(tag: string): string {
  return tag.normalize('NFC').toLowerCase();
}

/** In order of first appearance, each key once, no empty ones. */
export function distinctTags(tags: readonly string[]): string[] {
  const byKey = new Map<string, string>();
  for (const tag of tags) if (tag !== '' && !byKey.has(tagKey(tag))) byKey.set(tagKey(tag), tag);
  return [...byKey.values()];
}
