/**
 * The noun: a domain from which mail is sent. Proved by its DNS, it signs (DKIM) and provides the return-path and the host of
 * links for its customer's mail. This file says what an input may contain and what the states mean; it makes no queries.
 */
import { domainToASCII } from 'node:url';
import { z } from 'zod';
import type { RowOfFields } from '../../../db/fields.ts';
import { dkimAlgorithms, type DkimAlgorithm } from '../signing/dkim-identity.ts';
import type { domainColumns } from './sending-domain-fields.ts';

/** Space for a selector, a label before it and `_domainkey`, within the 253 characters of a name. */
const NAME_LENGTH_MAX = 180;
const LABEL = /^(?!xn--$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;
/** Checked before `domainToASCII`, which would decode percent signs and cut at a slash. */
const TYPED = /^[\p{L}\p{M}\p{N}.\u3002-]+$/u;

/** Each is checked in the DNS every day. */
export const DOMAINS_PER_CUSTOMER_MAX = 200;
/** A person waits while DNS servers are queried; a faster repeat shows nothing new. */
export const CHECK_PAUSE_SECONDS = 10;
/** As long as receivers retry: a record that was lost by mistake is back by then. */
export const GRACE_HOURS = 72;
/** Mail in transit, or forwarded later, is still verified by the key that signed it. */
export const RETIRED_KEY_DAYS = 7;

export const recordKinds = ['ownership', 'dkim', 'spf', 'dmarc', 'return_path', 'tracking'] as const;
export type RecordKind = (typeof recordKinds)[number];
/** `unknown`: not checked yet, or no answer. */
export const recordStatuses = ['unknown', 'verified', 'missing', 'wrong'] as const;
export type RecordStatus = (typeof recordStatuses)[number];

/** A domain name as it is compared: lower case, IDNA in ASCII; undefined when it is invalid. */
export function domainName(typed: string): string | undefined {
  const text = typed.trim().replace(/\.$/, '');
  const name = TYPED.test(text) ? domainToASCII(text).toLowerCase() : '';
  const labels = name.split('.');
  const isName = labels.length > 1 && name.length <= NAME_LENGTH_MAX && labels.every((label) => LABEL.test(label));
  return isName && !/^\d+$/.test(labels.at(-1) ?? '') ? name : undefined;
}

const name = z
  .string()
  .transform((typed, context) => {
    const found = domainName(typed);
    if (found !== undefined) return found;
    context.addIssue({ code: 'custom', message: 'must be a domain name such as example.com', input: typed });
    return z.NEVER;
  })
  .describe(`A domain name of at most ${NAME_LENGTH_MAX} characters, such as example.com.`);
const subdomain = z
  .string()
  .trim()
  .toLowerCase()
  .refine((text) => LABEL.test(text), 'must be one label of a domain name, such as links')
  .describe('One label of a domain name, at most 63 characters.');

const common = {
  usesEd25519: z.boolean().nullish(),
  isDefault: z.boolean().nullish(),
  returnPathSubdomain: subdomain.nullish(),
  trackingSubdomain: subdomain.nullish(),
};

/** Labels of a new domain's hosts, unless others are given. */
export const RETURN_PATH_SUBDOMAIN = 'bounces';
export const TRACKING_SUBDOMAIN = 'links';

export const createSendingDomainInput = z.object({ name, ...common }).refine(
  // A name has one CNAME only, and the two lead to different places.
  ({ trackingSubdomain, returnPathSubdomain }) =>
    (trackingSubdomain ?? TRACKING_SUBDOMAIN) !== (returnPathSubdomain ?? RETURN_PATH_SUBDOMAIN),
  { path: ['trackingSubdomain'], message: 'must differ from the return path subdomain' },
);
export const updateSendingDomainInput = z.object(common);

/** Input from an entry point; the schemas above check it. */
export interface UpdateSendingDomainInput {
  readonly usesEd25519?: boolean | null | undefined;
  readonly isDefault?: boolean | null | undefined;
  readonly returnPathSubdomain?: string | null | undefined;
  readonly trackingSubdomain?: string | null | undefined;
}
export interface CreateSendingDomainInput extends UpdateSendingDomainInput {
  readonly name: string;
}

export type SendingDomain = RowOfFields<typeof domainColumns>;

export type DkimKeyStatus = 'new' | 'active' | 'retired';

/** The public part of a key. */
export interface PublicDkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
  readonly publicKey: string;
  readonly status: DkimKeyStatus;
}

const publicKey = z.object({
  selector: z.string(),
  algorithm: z.enum(dkimAlgorithms),
  publicKey: z.string(),
  status: z.enum(['new', 'active', 'retired']),
});

/** The public part of a row of keys. */
export function publicKeyOf(row: unknown): PublicDkimKey {
  return publicKey.parse(row);
}

/** The last check's result for one record. */
const finding = z.object({
  kind: z.enum(recordKinds),
  name: z.string(),
  status: z.enum(recordStatuses),
  seen: z.array(z.string()),
  problems: z.array(z.string()),
});
export type RecordFinding = z.output<typeof finding>;

const alignment = z.enum(['relaxed', 'strict']);
export const domainChecks = z.object({
  records: z.array(finding).default([]),
  spfLookups: z.int().nullable().default(null),
  dmarc: z
    .object({
      foundAt: z.string().nullable(),
      record: z.string().nullable(),
      policy: z.enum(['none', 'quarantine', 'reject']).nullable(),
      organizationalDomain: z.string(),
      dkimAlignment: alignment,
      spfAlignment: alignment,
    })
    .nullable()
    .default(null),
});
export type DomainChecks = z.output<typeof domainChecks>;
