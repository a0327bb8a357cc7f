/** The scheduled part: checks due domains, a few at once, so that no DNS server is flooded. */
import { messageOf } from '../../../lib/errors.ts';
import type { Context } from '../../context.ts';
import { takeDueDomains } from './sending-domain-store.ts';
import { checkDomain } from './verify-sending-domain.ts';

/** Per run; so 14,000 domains can be checked daily. */
const DOMAINS_AT_ONCE = 100;
const PARALLEL = 10;

/** Checks what is due, and returns how many. One that cannot be checked is due again in an hour. */
export async function recheckDomains(ctx: Context, { isStopping }: { isStopping: () => boolean }): Promise<number> {
  const due = await takeDueDomains(ctx.db, DOMAINS_AT_ONCE);
  const checkOneAfterAnother = async (): Promise<void> => {
    for (let domain = due.pop(); domain && !isStopping(); domain = due.pop()) {
      const { uid, name } = domain;
      await checkDomain(ctx, domain).catch((error: unknown) =>
        ctx.log.warn('sending.domain_check_failed', { uid, name, message: messageOf(error) }),
      );
    }
  };
  const count = due.length;
  await Promise.all(Array.from({ length: PARALLEL }, checkOneAfterAnother));
  return count;
}
