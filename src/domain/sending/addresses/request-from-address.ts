/** Asks for a sender's address: a mail with a link goes to it, and whoever opens the link and agrees has verified it. */
import { enqueue } from '../../../jobs/define-job.ts';
import { addressMailJob } from '../../../jobs/sending-jobs.ts';
import { newUid } from '../../../lib/ids.ts';
import { parseInput } from '../../../lib/text.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { requestedOfAddress, requestedMails, countRequestedMail } from '../requested-mails.ts';
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
const KIND = 'from-address';

/**
 * Keeps the address and sends the link, or sends it again; one that is verified stays so and gets none. Throws
 * ValidationError on `email`, RateLimitedError `FROM_ADDRESS_MAILED_JUST_NOW`.
 */
export async function requestFromAddress(ctx: Context, input: { email: string }): Promise<FromAddress> {
  const { customerId } = viewerOf(ctx);
  const { email } = parseInput(fromAddressInput, input);
  return inTransaction(ctx, async ({ tx }) => {
    const total = await countAddresses(tx, customerId);
    const address = await keepAddress(tx, { customerId, uid: newUid(), email });
    if (address.verifiedAt !== null) return address;
    if (total >= ADDRESSES_PER_CUSTOMER_MAX) throw tooManyAddresses();
    const mailed = await requestedMails(tx, { customerId, kind: KIND }, HOUR_SECONDS);
    if (mailed >= MAILS_PER_HOUR_MAX) throw mailedJustNow(HOUR_SECONDS);
    const { secret } = ctx.installation;
    const { justNow, inDay } = await requestedOfAddress(tx, {
      secret,
      customerId,
      email,
      pauseSeconds: MAIL_PAUSE_SECONDS,
    });
    if (justNow > 0) throw mailedJustNow(MAIL_PAUSE_SECONDS);
    if (inDay >= MAILS_PER_ADDRESS_AND_DAY_MAX) throw mailedJustNow(HOUR_SECONDS);
    await countRequestedMail(tx, { secret, customerId, kind: KIND, emails: [email] });
    await noteMail(tx, address);
    await enqueue(tx, addressMailJob, { customerId: String(customerId), addressId: String(address.id) });
    return address;
  });
}
