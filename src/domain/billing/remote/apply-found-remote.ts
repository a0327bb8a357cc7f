/** Writes what a vendor says about a subscription that it keeps, and how that is paid. */
import { messageOf } from '../../../lib/errors.ts';
import type { RemotePeriod } from '../../../plugin-api/index.ts';
import type { Context } from '../../context.ts';
import { workOnCustomer } from '../billing-work.ts';
import { methodData } from '../gateways/gateway-secrets.ts';
import type { OpenGateway } from '../gateways/open-gateway.ts';
import { digestOf, methodDigest } from '../saved-methods/method-digest.ts';
import { findKnown, writeDigest } from '../saved-methods/payment-method-store.ts';
import type { Payment } from '../payments/payment-intent.ts';
import { applyRemote, LacksPeriodsError } from './apply-remote.ts';
import type { ReadRemote } from './remote-answers.ts';
import { periodsSince } from './walk-remotes.ts';
import { writeRemoteMethod, writeUnread, type Remote } from './remote-subscription-store.ts';

const WORDS_LENGTH_MAX = 100;
/** As while money is due. */
const UNREAD_PAUSE_MS = 10 * 60_000;

/** Writes what the vendor says, and how it is paid. False: it belongs to nothing here. */
export async function applyFound(
  ctx: Context,
  open: OpenGateway,
  { payment, remote, readsMethod = false }: { payment: Payment; remote: ReadRemote; readsMethod?: boolean },
): Promise<boolean> {
  const apply = (periods: readonly RemotePeriod[] | null | undefined) =>
    workOnCustomer({ ...ctx, viewer: null }, payment.customerId, (work) =>
      applyRemote(work, { payment, remote, periods }),
    );
  const row = await apply(open.can('getRemotePeriods') ? undefined : null).catch(async (error: unknown) => {
    if (!(error instanceof LacksPeriodsError)) throw error;
    // Read outside of the transaction, which was rolled back; then all is applied from the start.
    return apply(await missedPeriods(ctx, open, { remote, lacking: error }));
  });
  if (row && !row.isEnded && (readsMethod || row.methodTitle === '' || row.methodDigest === null))
    await readMethod(ctx, open, row);
  return row !== undefined;
}

/** While they cannot be read, it stays as it was known; one that was not known is written down, so that no saved method is charged beside it. */
async function missedPeriods(
  ctx: Context,
  open: OpenGateway,
  { remote, lacking: { owner, since } }: { readonly remote: ReadRemote; readonly lacking: LacksPeriodsError },
): Promise<RemotePeriod[]> {
  try {
    return await periodsSince(ctx, open, { remoteId: remote.id, since });
  } catch (error) {
    const at = ctx.clock.now();
    const nextSyncAt = new Date(at.getTime() + UNREAD_PAUSE_MS);
    await writeUnread(ctx.db, owner, { remote, error: messageOf(error), at, nextSyncAt });
    throw error;
  }
}

/** Only words for the customer: one that cannot be read now is read another time. */
async function readMethod(ctx: Context, open: OpenGateway, row: Remote): Promise<void> {
  if (!open.can('getRemotePaymentMethod')) return;
  try {
    const answered = await open.call(async (service) => service.getRemotePaymentMethod?.(row.remoteId));
    const read = methodData.safeParse(answered);
    if (!read.success) return;
    const title = open.ask((service) => shortWords(service.getMethodTitle(read.data)));
    const info = open.ask((service) => shortWords(service.getMethodInfo(read.data)));
    const [digest, former] = [methodDigest(open, read.data), digestOf(read.data)];
    const { customerId, gatewayId } = row;
    await workOnCustomer({ ...ctx, viewer: null }, customerId, async ({ ctx: { db } }) => {
      // One that was saved before plugins gave ids is recognised from now on: whoever removes it is warned.
      const known = await findKnown(db, { customerId, gatewayId, digest, former });
      if (known) await writeDigest(db, known, digest);
      await writeRemoteMethod(db, row, { title, info, digest });
    });
  } catch (error) {
    ctx.log.warn('billing.remote_method_not_read', { remote: row.remoteId, message: messageOf(error) });
  }
}

/** What comes from a plugin may be no text. */
function shortWords(words: unknown): string {
  return typeof words === 'string' ? words.replaceAll('\0', '').slice(0, WORDS_LENGTH_MAX) : '';
}
