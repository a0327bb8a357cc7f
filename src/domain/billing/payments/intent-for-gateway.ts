/** A payment intent as gateways see it, and the token by which a gateway's route gets it back. */
import type { PaymentIntent } from '../../../plugin-api/index.ts';
import type { Context, Installation } from '../../context.ts';
import { storedCurrency } from '../currencies.ts';
import { payerOf } from '../invoices/payer-read-model.ts';
import type { Payment } from './payment-intent.ts';
import { readSignedUid, signUid } from '../signed-uid.ts';

const PURPOSE = 'payment-intent';
/** Who comes back to the vendor's page on the next day begins anew on the page of the invoice. */
const TOKEN_SECONDS = 24 * 60 * 60;

/** What the gateway gets. */
export async function intentForGateway(ctx: Context, payment: Payment): Promise<PaymentIntent> {
  const { uid, status, amountMinor, currencyCode, reference, remotePlanId } = payment;
  const payer = await payerOf(ctx.db, payment);
  const expiresAt = Math.floor(ctx.clock.now().getTime() / 1_000) + TOKEN_SECONDS;
  return Object.freeze({
    ...{ uid, status, amountMinor, currencyCode, reference, remotePlanId },
    token: signUid(signingOf(ctx.installation), uid, expiresAt),
    currencyDigits: storedCurrency(currencyCode).exponent,
    invoiceUid: payer.invoiceUid,
    description: payer.planName,
    customer: Object.freeze({ uid: payer.customerUid, name: payer.customerName }),
  });
}

/** The uid of a token that is valid now. */
export function intentOfToken(ctx: Pick<Context, 'installation' | 'clock'>, token: string): string | undefined {
  const read = readSignedUid(signingOf(ctx.installation), token, ctx.clock.now());
  return read && !read.isExpired ? read.uid : undefined;
}

function signingOf({ secret }: Installation) {
  return { secret, purpose: PURPOSE };
}
