/** Checks a domain's records now, on demand or scheduled, and records the consequences. */
import { enqueue } from '../../../jobs/define-job.ts';
import { domainMailJob } from '../../../jobs/sending-jobs.ts';
import { inTransaction, type Context } from '../../context.ts';
import { keysOf } from './dkim-key-store.ts';
import { siteOf } from './domain-site.ts';
import { readDomainRecords } from './read-domain-records.ts';
import { findOwnedSendingDomain } from './find-owned-sending-domain.ts';
import { checkedJustNow } from './sending-domain-errors.ts';
import { noteCheckRequest } from './sending-domain-store.ts';
import { CHECK_PAUSE_SECONDS, type SendingDomain } from './sending-domain.ts';
import { recordCheck } from './record-check.ts';
import { trackingProbe } from './tracking-probe.ts';

/**
 * Checks the caller's domain in the DNS. Throws RateLimitedError `SENDING_DOMAIN_CHECKED_JUST_NOW`; NotFoundError,
 * ForeignResourceError.
 */
export async function verifySendingDomain(ctx: Context, { uid }: { uid: string }): Promise<SendingDomain> {
  const domain = await findOwnedSendingDomain(ctx, uid);
  if (!(await noteCheckRequest(ctx.db, domain, CHECK_PAUSE_SECONDS))) throw checkedJustNow();
  await checkDomain(ctx, domain);
  return domain;
}

/** Checks and records; affected customers are notified by mail. */
export async function checkDomain(ctx: Context, domain: SendingDomain): Promise<void> {
  const means = { site: siteOf(ctx.installation), probe: trackingProbe(ctx.installation) };
  // Outside of the transaction: foreign DNS servers may take seconds.
  const look = await readDomainRecords(means, domain, await keysOf(ctx.db, domain));
  await inTransaction(ctx, async ({ tx, log }) => {
    const settled = await recordCheck(tx, domain, look);
    for (const { customerId, domainId, notification } of settled?.notification ?? []) {
      log.warn('sending.domain_news', { customerId, domainId, domain: domain.name, notification });
      const payload = { customerId: String(customerId), domainId: String(domainId), notification };
      await enqueue(tx, domainMailJob, payload, { key: `sending.domain-mail:${domainId}:${notification}` });
    }
  });
}
