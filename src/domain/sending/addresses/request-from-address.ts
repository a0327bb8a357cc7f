/** Adds a sender's address: a mail with a link goes to it, and following the link verifies it. */
import type { WindowLimit } from '../../../db/rate-windows.ts';
import { enqueue } from '../../../jobs/define-job.ts';
import { addressMailJob } from '../../../jobs/sending-jobs.ts';
import { newUid } from '../../../lib/ids.ts';
import { parseInput } from '../../../lib/text.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { countRequestedMails, requestedAddress } from '../requested-mails.ts';
import { countAddresses, keepAddress, noteMail } from './from-address-store.ts';
import {
  ADDRESSES_PER_CUSTOMER_MAX,
  fromAddressInput,
  MAIL_PAUSE_SECONDS,
  mailedJustNow,
  MAILS_PER_ADDRESS_AND_DAY_MAX,
  MAILS_PER_HOUR_MAX,
  tooManyAddresses,
  type FromAddress,
} from './from-address.ts';

const HOUR_SECONDS = 3_600;
const DAY_SECONDS = 86_400;

/**
 * Stores the address and sends the link, or sends it again; a verified one stays so and gets none. Throws ValidationError on
 * `email`, RateLimitedError `FROM_ADDRESS_MAILED_JUST_NOW`.
 */
export async function requestFromAddress(ctx: Context, input: { email: string }): Promise<FromAddress> {
  const { customerId } = viewerOf(ctx);
  const { email } = parseInput(fromAddressInput, input);
  return inTransaction(ctx, async ({ tx }) => {
    const total = await countAddresses(tx, customerId);
    const address = await keepAddress(tx, { customerId, uid: newUid(), email });
    if (address.verifiedAt !== null) return address;
    if (total >= ADDRESSES_PER_CUSTOMER_MAX) throw tooManyAddresses();
    const waitSeconds = await countRequestedMails(tx, limitsOf(ctx, { customerId, email }));
    if (waitSeconds !== undefined) throw mailedJustNow(waitSeconds);
    await noteMail(tx, address);
    await enqueue(tx, addressMailJob, { customerId: String(customerId), addressId: String(address.id) });
    return address;
  });
}

function limitsOf(
  { installation }: Context,
  { customerId, email }: { customerId: bigint; email: string },
): WindowLimit[] {
  const address = requestedAddress(installation.secret, email);
  return [
    { key: `sender-mails:${customerId}`, max: MAILS_PER_HOUR_MAX, seconds: HOUR_SECONDS },
    { key: `sender-mails:${customerId}:${address}`, max: 1, seconds: MAIL_PAUSE_SECONDS },
    // Of all customers.
    { key: `sender-mails:${address}`, max: MAILS_PER_ADDRESS_AND_DAY_MAX, seconds: DAY_SECONDS },
  ];
}
