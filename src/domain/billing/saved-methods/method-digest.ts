/** What recognises a saved payment method among those of its customer and gateway: its ids at the vendor, not what is printed on the card. */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { PaymentMethodData } from '../../../plugin-api/index.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';

/** Ids of vendors are shorter. */
const idShape = z.string().min(1).max(1_000);

/** Throws PluginFailedError. A plugin that gives no id is asked for none: then all of the data counts. */
export function methodDigest(open: OpenGateway, data: PaymentMethodData): string {
  const id = open.can('getMethodId')
    ? idShape.safeParse(open.ask((service) => service.getMethodId?.(data)))
    : undefined;
  return id?.success ? digestOf({ id: id.data }) : digestOf(data);
}

/** Of all of the data: how methods were recognised before plugins gave their ids. */
export function digestOf(data: PaymentMethodData): string {
  const entries = Object.entries(data).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
