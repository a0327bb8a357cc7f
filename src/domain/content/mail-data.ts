/** Data that comes with one mail, for its Liquid: `data.*` of a transactional mail, `payload.*` of an event. */
import { z } from 'zod';

/** In JSON. An order with hundreds of items has less; it is stored with the mail and copied for each text that uses it. */
export const MAIL_DATA_BYTES_MAX = 65_536;
/** Deeper data is a mistake, and every level takes stack. */
const LEVELS_MAX = 8;

export interface MailData {
  readonly [name: string]: MailDataValue;
}
export type MailDataValue = string | number | boolean | null | MailData | readonly MailDataValue[];

/** Reads data that a caller gives: an object of JSON within the limits. */
export const mailData = z.unknown().transform((value, context): MailData => {
  const fault = isData(value) ? sizeFault(value) : 'must be an object of JSON';
  if (fault === undefined && isData(value)) return value;
  context.addIssue({ code: 'custom', message: fault ?? 'must be an object of JSON', input: value });
  return z.NEVER;
});

function sizeFault(data: MailData): string | undefined {
  if (!isWithin(data, LEVELS_MAX)) return `may not be nested deeper than ${LEVELS_MAX} levels`;
  const bytes = Buffer.byteLength(JSON.stringify(data));
  return bytes > MAIL_DATA_BYTES_MAX ? `may not be greater than ${MAIL_DATA_BYTES_MAX / 1024} KB` : undefined;
}

/** Whoever calls has parsed it from JSON, so that there are no other values within. */
function isData(value: unknown): value is MailData {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isWithin(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isWithin(inner, levels - 1));
}
