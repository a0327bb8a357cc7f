/**
 * The noun: a way to pay invoices that an administrator has set up. Its type is a gateway that a plugin registers, or `offline`. This file
 * says what an input may contain; it never calls a vendor.
 */
import { z } from 'zod';
import type { RowOfFields, ValuesOf } from '../../../db/fields.ts';
import { singleLine } from '../../../lib/text.ts';
import { gatewayStatuses, type gatewayFields, type storedGatewayColumns } from './payment-gateway-fields.ts';

const NAME_LENGTH_MAX = 255;
const TYPE_LENGTH_MAX = 50;
// No vendor has so many settings; one may be a private key.
const SETTINGS_MAX = 50;
const SETTING_LENGTH_MAX = 10_000;

/** More are a mistake of a looping program; each is tested by calling its vendor. */
export const GATEWAYS_MAX = 100;

/** The type that Mailwright has itself. */
export const OFFLINE = 'offline';

const settings = z
  .record(
    z.string().max(TYPE_LENGTH_MAX),
    z.union([z.string().max(SETTING_LENGTH_MAX), z.number(), z.boolean(), z.null()]),
  )
  .refine((value) => Object.keys(value).length <= SETTINGS_MAX, 'has too many keys');

const common = { name: singleLine(NAME_LENGTH_MAX), status: z.enum(gatewayStatuses).nullish() };

export const createGatewayInput = z.object({
  ...common,
  type: singleLine(TYPE_LENGTH_MAX),
  settings: settings.default({}),
});

export const updateGatewayInput = z.object({
  ...common,
  name: common.name.optional(),
  settings: settings.optional(),
});

/** Input from an entry point; the schemas above check it. */
export interface UpdateGatewayInput {
  readonly name?: string | null | undefined;
  readonly settings?: Readonly<Record<string, unknown>> | null | undefined;
  readonly status?: string | null | undefined;
}
export interface CreateGatewayInput extends UpdateGatewayInput {
  readonly type?: string | null | undefined;
}

export type StoredGateway = RowOfFields<typeof storedGatewayColumns>;
export type GatewayValues = ValuesOf<typeof gatewayFields>;
