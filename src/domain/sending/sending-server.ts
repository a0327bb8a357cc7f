/**
 * The noun: a sending server, a driver and its settings. An administrator's servers are the system's and serve every customer
 * without own ones (decision D29). This file says what an input may contain; it never connects.
 */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../db/fields.ts';
import type { FieldErrors } from '../../lib/errors.ts';
import { emailAddress, singleLine } from '../../lib/text.ts';
import { domainLimits } from './routing/domain-limits.ts';
import { warmUpSchedule } from './routing/warm-up.ts';
import {
  serverStatuses,
  type quota,
  type serverColumns,
  type serverFields,
  type storedServerColumns,
} from './sending-server-fields.ts';

const NAME_LENGTH_MAX = 255;
const TYPE_LENGTH_MAX = 50;
// No driver has so many keys; a setting may be a private key.
const SETTINGS_MAX = 50;
const SETTING_LENGTH_MAX = 10_000;
// Use "no limit" instead of a larger number.
const QUOTA_VALUE_MAX = 1_000_000_000;
const QUOTA_BASE_MAX = 1_000;
/** The quota value that means no limit. */
const NO_QUOTA = -1;

/** More are a mistake of a looping program; each is tested by connecting. */
export const SERVERS_PER_CUSTOMER_MAX = 100;

export const quotaUnits = ['second', 'minute', 'hour', 'day', 'month'] as const;

const settingValue = z.union([z.string().max(SETTING_LENGTH_MAX), z.number(), z.boolean(), z.null()]);
/** Settings of a server, by the names of its driver. */
export const serverSettings = z
  .record(z.string().max(TYPE_LENGTH_MAX), settingValue)
  .refine((value) => Object.keys(value).length <= SETTINGS_MAX, 'has too many keys');

const common = {
  name: singleLine(NAME_LENGTH_MAX),
  defaultFromEmail: z.union([z.literal(''), emailAddress()]).nullish(),
  quotaValue: z
    .int()
    .min(NO_QUOTA)
    .max(QUOTA_VALUE_MAX)
    .refine((value) => value !== 0, 'must be at least 1, or -1 for no limit')
    .nullish(),
  quotaBase: z.int().min(1).max(QUOTA_BASE_MAX).nullish(),
  quotaUnit: z.enum(quotaUnits).nullish(),
  domainLimits: domainLimits.nullish(),
  warmUp: warmUpSchedule.nullish(),
};

export const createSendingServerInput = z.object({
  ...common,
  type: singleLine(TYPE_LENGTH_MAX),
  settings: serverSettings.default({}),
});

export const updateSendingServerInput = z.object({
  ...common,
  name: common.name.optional(),
  type: singleLine(TYPE_LENGTH_MAX).optional(),
  settings: serverSettings.optional(),
  status: z.enum(serverStatuses).optional(),
});

/** Input from an entry point; the schemas above check it. */
export interface UpdateSendingServerInput {
  readonly name?: string | null | undefined;
  readonly type?: string | null | undefined;
  readonly settings?: Readonly<Record<string, unknown>> | null | undefined;
  readonly defaultFromEmail?: string | null | undefined;
  readonly quotaValue?: number | null | undefined;
  readonly quotaBase?: number | null | undefined;
  readonly quotaUnit?: string | null | undefined;
  readonly domainLimits?: Readonly<Record<string, unknown>> | null | undefined;
  readonly warmUp?: Readonly<Record<string, unknown>> | null | undefined;
  readonly status?: string | null | undefined;
}
export type CreateSendingServerInput = Omit<UpdateSendingServerInput, 'status'>;

export type SendingServer = RowOfFields<typeof serverColumns>;
export type StoredServer = RowOfFields<typeof storedServerColumns>;
export type ServerValues = ValuesOf<typeof serverFields>;
export type QuotaColumns = RowOfFields<typeof quota>;

/** The quota to store; null in all three: no limit. */
export function quotaColumns(input: {
  quotaValue?: number | null | undefined;
  quotaBase?: number | null | undefined;
  quotaUnit?: string | null | undefined;
}): QuotaColumns {
  const { quotaValue } = input;
  if (quotaValue === undefined || quotaValue === null || quotaValue === NO_QUOTA)
    return { quotaValue: null, quotaBase: null, quotaUnit: null };
  return { quotaValue, quotaBase: input.quotaBase ?? 1, quotaUnit: input.quotaUnit ?? 'hour' };
}

/** A driver's errors, named by key, as errors of the input: `settings.host`. */
export function settingsErrors(errors: FieldErrors): FieldErrors {
  return Object.fromEntries(Object.entries(errors).map(([key, messages]) => [`settings.${key}`, messages]));
}
