/** A verification: a run of a verifier over the people of a list, or those that an import has added. A job walks over them by key. */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../db/fields.ts';
import { singleLine } from '../../lib/text.ts';
import type { VerificationResult } from '../../plugin-api/index.ts';
import { whenUndeliverable, type newVerificationFields, type verificationColumns } from './verification-fields.ts';

/** Ten years. */
const OLDER_THAN_DAYS_MAX = 3_650;
const UID_LENGTH_MAX = 64;

/** PostgreSQL channel on which a verification's uid is sent when its progress has changed. */
export const VERIFICATION_CHANNEL = 'verification_progress';

export type Verification = RowOfFields<typeof verificationColumns>;
export type VerificationKey = Pick<Verification, 'customerId' | 'id'>;
export type NewVerification = ValuesOf<typeof newVerificationFields>;

export type ResultCounts = Readonly<Record<VerificationResult, number>>;

export const verificationServerRef = singleLine(UID_LENGTH_MAX).nullish();

export const startVerificationInput = z.object({
  /** Uid of a server that the customer may use; absent: the first of them. */
  verificationServer: verificationServerRef,
  /** Also people whose result is older; 0: everybody again. Absent: only people without a result, or with `unknown`. */
  olderThanDays: z.int().min(0).max(OLDER_THAN_DAYS_MAX).nullish(),
  /** Absent: `keep`. */
  undeliverable: z.enum(whenUndeliverable).nullish(),
});

/** Whether it has not ended. */
export function isOpenVerification({ status }: Pick<Verification, 'status'>): boolean {
  return status === 'queued' || status === 'running' || status === 'paused';
}
