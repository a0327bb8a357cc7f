/**
 * The noun: a verification server, a verifier and its settings. An administrator's servers are the system's and serve the customers whose
 * plans give them (D29 says the same of sending servers). This file says what an input may contain; it never connects.
 */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../db/fields.ts';
import { singleLine } from '../../lib/text.ts';
import { serverSettings } from '../sending/sending-server.ts';
import {
  verificationServerStatuses,
  type verificationServerColumns,
  type verificationServerFields,
} from './verification-server-fields.ts';

const NAME_LENGTH_MAX = 255;
const TYPE_LENGTH_MAX = 50;
/** More is no limit. */
const PER_MINUTE_MAX = 1_000_000;

/** More are a mistake of a looping program; each is tested. */
export const VERIFICATION_SERVERS_PER_CUSTOMER_MAX = 100;

const name = singleLine(NAME_LENGTH_MAX);
const type = singleLine(TYPE_LENGTH_MAX);
const perMinuteMax = z.int().min(1).max(PER_MINUTE_MAX).nullish();

export const createVerificationServerInput = z.object({
  name,
  type,
  settings: serverSettings.default({}),
  perMinuteMax,
});
export const updateVerificationServerInput = z.object({
  name: name.optional(),
  type: type.optional(),
  settings: serverSettings.optional(),
  perMinuteMax,
  status: z.enum(verificationServerStatuses).optional(),
});

/** Input from an entry point; the schemas above check it. */
export interface UpdateVerificationServerInput {
  readonly name?: string | null | undefined;
  readonly type?: string | null | undefined;
  readonly settings?: Readonly<Record<string, unknown>> | null | undefined;
  readonly perMinuteMax?: number | null | undefined;
  readonly status?: string | null | undefined;
}
export type CreateVerificationServerInput = Omit<UpdateVerificationServerInput, 'status'>;

export type VerificationServer = RowOfFields<typeof verificationServerColumns>;
export type VerificationServerValues = ValuesOf<typeof verificationServerFields>;
