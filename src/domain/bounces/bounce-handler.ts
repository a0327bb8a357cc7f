/**
 * The noun: a bounce handler, a mailbox for bounces and complaints. An administrator's takes reports about messages of all
 * customers, a customer's about its own. This file says what an input may contain; it never connects.
 */
import { z } from 'zod';
import { row, type RowOf } from '../../db/database.ts';
import type { RowOfFields } from '../../db/fields.ts';
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
// Both protocols write them into a line.
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

/** Input from an entry point; the schemas above check it. */
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

/** The address of a mailbox and its login. */
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

export const BOUNCE_HANDLER_KEY_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
});
export type BounceHandlerKey = RowOf<typeof BOUNCE_HANDLER_KEY_ROW>;

export type BounceHandler = RowOfFields<typeof handlerColumns>;
export type NewBounceHandler = Omit<BounceHandler, 'id' | 'status'>;

const INBOX = 'INBOX';

/** An empty one means the inbox. */
export function folderOf(folder: string | null | undefined): string {
  return folder || INBOX;
}

/** The standard ports. */
export function usualPort(protocol: Protocol, encryption: Encryption): number {
  if (protocol === 'imap') return encryption === 'tls' ? 993 : 143;
  return encryption === 'tls' ? 995 : 110;
}
