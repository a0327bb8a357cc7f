/**
 * The noun: a sender's address whose reader has agreed by a link. Needed where the operator demands verified senders, and for
 * addresses below a domain of another customer.
 */
import { z } from 'zod';
import { row, type RowOf } from '../../../db/database.ts';
import { deriveKey, mac, sameBytes } from '../../../lib/crypto.ts';
import {
  ForeignResourceError,
  NotFoundError,
  RateLimitedError,
  ValidationError,
  WrongStateError,
} from '../../../lib/errors.ts';
import { fromBase36 } from '../../../lib/ids.ts';
import { emailAddress } from '../../../lib/text.ts';
import type { Installation } from '../../context.ts';
import { sentByFlows, type FlowUse } from '../../flow-uses/flow-use.ts';

/** Each costs a mail to a person who did not ask for it. */
export const ADDRESSES_PER_CUSTOMER_MAX = 100;
export const MAILS_PER_HOUR_MAX = 20;
export const MAIL_PAUSE_SECONDS = 300;
/** Mails per address and day, by all customers: nobody gets many, and a mistake locks nobody out. */
export const MAILS_PER_ADDRESS_AND_DAY_MAX = 10;
export const LINK_DAYS = 7;

export const fromAddressInput = z.object({ email: emailAddress() });

export const FROM_ADDRESS_ROW = row({
  customerId: 'bigint',
  id: 'bigint',
  uid: 'text',
  email: 'text',
  verifiedAt: 'timestamptz?',
});
export type FromAddress = RowOf<typeof FROM_ADDRESS_ROW>;

const NO_ADDRESS = ['FROM_ADDRESS_NOT_FOUND', 'No sender address has this uid.'] as const;
export const addressNotFound = () => new NotFoundError(...NO_ADDRESS);
export const foreignAddress = () => new ForeignResourceError(...NO_ADDRESS);
export const addressOfFlows = (uses: readonly FlowUse[]) =>
  new WrongStateError('FROM_ADDRESS_IN_USE', sentByFlows('sender address', uses));
export const tooManyAddresses = () =>
  new ValidationError(
    { email: [`A customer may not have more than ${ADDRESSES_PER_CUSTOMER_MAX} sender addresses.`] },
    'TOO_MANY_FROM_ADDRESSES',
  );
export const mailedJustNow = (seconds: number) =>
  new RateLimitedError('FROM_ADDRESS_MAILED_JUST_NOW', 'A mail with a link was sent just now.', seconds);

const KEY_PURPOSE = 'from-address';
const TOKEN = /^([0-9a-z]{1,13})\.([0-9a-z]{1,13})\.([0-9a-z]{1,9})\.([A-Za-z0-9_-]{22})$/;

export interface AddressToken {
  readonly customerId: bigint;
  readonly id: bigint;
  readonly expiresAt: Date;
}

/** The link that confirms an address. */
export function addressLink({ secret, baseUrl }: Installation, { customerId, id, expiresAt }: AddressToken): string {
  const content = [customerId, id, BigInt(Math.floor(expiresAt.getTime() / 1_000))]
    .map((part) => part.toString(36))
    .join('.');
  return `${baseUrl}/verify-address/${content}.${signature(secret, content)}`;
}

/** The content of a link; undefined when it is not ours. The caller checks its expiry. */
export function readAddressToken({ secret }: Installation, token: string): AddressToken | undefined {
  const [, customer = '', address = '', seconds = '', given = ''] = TOKEN.exec(token) ?? [];
  if (given === '') return undefined;
  const expected = signature(secret, [customer, address, seconds].join('.'));
  if (!sameBytes(Buffer.from(given), Buffer.from(expected))) return undefined;
  return {
    customerId: fromBase36(customer),
    id: fromBase36(address),
    expiresAt: new Date(Number.parseInt(seconds, 36) * 1_000),
  };
}

function signature(secret: string, content: string): string {
  return mac(deriveKey(secret, KEY_PURPOSE), content).toString('base64url');
}
