/**
 * The noun: a bounce handler, a mailbox that bounces and complaints come to. An administrator's takes reports about
 * everybody's messages, a customer's about its own. This file says what an input may hold; it never connects.
 */
import { z } from 'zod';
import type { RowOf } from '../../db/fields.ts';
import { optionalLine, singleLine } from '../../lib/text.ts';
import {
  ENCRYPTIONS,
  HANDLER_STATUSES,
  PROTOCOLS,
  type Encryption,
  type handlerColumns,
  type Protocol,
} from './bounce-handler-fields.ts';

const NAME_LENGTH_MAX = 255;
const HOST_LENGTH_MAX = 253;
const SECRET_LENGTH_MAX = 1_000;
/** Each is a connection every few minutes. */
export const HANDLERS_PER_CUSTOMER_MAX = 20;

const port = z.int().min(1).max(65_535);
const host = singleLine(HOST_LENGTH_MAX).refine(
  (text) => /^[\p{L}\p{N}.:_-]+$/u.test(text),
  'must be a host name or an address',
);
// Both protocols write them into a line of their own.
const password = z
  .string()
  .min(1)
  .max(SECRET_LENGTH_MAX)
  .refine((text) => !/[\r\n\0]/.test(text), 'must not contain line breaks');

export const createBounceHandlerInput = z.object({
  name: singleLine(NAME_LENGTH_MAX),
  protocol: z.enum(PROTOCOLS).nullish(),
  host,
  port: port.nullish(),
  encryption: z.enum(ENCRYPTIONS).nullish(),
  username: singleLine(NAME_LENGTH_MAX),
  password,
  folder: optionalLine(NAME_LENGTH_MAX).nullish(),
  keepsReports: z.boolean().nullish(),
});

export const updateBounceHandlerInput = z.object({
  name: singleLine(NAME_LENGTH_MAX).optional(),
  protocol: z.enum(PROTOCOLS).optional(),
  host: host.optional(),
  port: port.nullable().optional(),
  encryption: z.enum(ENCRYPTIONS).optional(),
  username: singleLine(NAME_LENGTH_MAX).optional(),
  password: password.optional(),
  folder: optionalLine(NAME_LENGTH_MAX).nullable().optional(),
  keepsReports: z.boolean().optional(),
  status: z.enum(HANDLER_STATUSES).optional(),
});

/** As a entry point hands it over; the schemas above decide what of it is right. */
export interface UpdateBounceHandlerInput {
  readonly name?: string | null | undefined;
  readonly protocol?: string | null | undefined;
  readonly host?: string | null | undefined;
  readonly port?: number | null | undefined;
  readonly encryption?: string | null | undefined;
  readonly username?: string | null | undefined;
  readonly password?: string | null | undefined;
  readonly folder?: string | null | undefined;
  readonly keepsReports?: boolean | null | undefined;
  readonly status?: string | null | undefined;
}
export type CreateBounceHandlerInput = Omit<UpdateBounceHandlerInput, 'status'>;

/** Where a mailbox is and how to get in. */
export interface MailboxAddress {
  readonly protocol: Protocol;
  readonly host: string;
  readonly port: number;
  readonly encryption: Encryption;
  readonly username: string;
  readonly password: string;
  /** IMAP only. */
  readonly folder: string;
}

export interface BounceHandlerKey {
  readonly customerId: bigint;
  readonly id: bigint;
}

export type BounceHandler = RowOf<typeof handlerColumns>;
export type NewBounceHandler = Omit<BounceHandler, 'id' | 'status'>;

const INBOX = 'INBOX';

/** An empty one is the inbox. */
export function folderOf(folder: string | null | undefined): string {
  return folder || INBOX;
}

/** Where servers listen that follow the standards. */
export function usualPort(protocol: Protocol, encryption: Encryption): number {
  if (protocol === 'imap') return encryption === 'tls' ? 993 : 143;
  return encryption === 'tls' ? 995 : 110;
}
