/** A new sending domain with its keys; it has no effect until its records are published. */
import { randomBytes } from 'node:crypto';
import { newUid } from '../../../lib/ids.ts';
import { parseInput } from '../../../lib/text.ts';
import { administers } from '../../billing/billing-rights.ts';
import { requireAllowed } from '../../billing/plans/require-allowed.ts';
import { requireWithinLimit } from '../../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context } from '../../context.ts';
import { makeDkimKey, type NewDkimKey } from '../signing/dkim-keys.ts';
import type { DkimAlgorithm } from '../signing/dkim-identity.ts';
import { defaultIsForAdministrators, domainExists, tooManyDomains } from './sending-domain-errors.ts';
import { insertKey } from './dkim-key-store.ts';
import { countDomains, insertDomain, unsetDefault } from './sending-domain-store.ts';
import {
  createSendingDomainInput,
  DOMAINS_PER_CUSTOMER_MAX,
  RETURN_PATH_SUBDOMAIN,
  TRACKING_SUBDOMAIN,
  type CreateSendingDomainInput,
} from './sending-domain.ts';

/**
 * Stores the domain and its keys. Throws ValidationError on the input, `SENDING_DOMAIN_EXISTS`,
 * `TOO_MANY_SENDING_DOMAINS` on `name`; ForbiddenError, and what `requireAllowed` and `requireWithinLimit` throw.
 */
export async function createSendingDomain(
  ctx: Context,
  input: CreateSendingDomainInput,
): Promise<{ customerId: bigint; id: bigint }> {
  const { customerId } = viewerOf(ctx);
  await requireAllowed(ctx, 'create_sending_domains');
  const wanted = parseInput(createSendingDomainInput, input);
  if (wanted.isDefault && !administers(ctx)) throw defaultIsForAdministrators();
  // Before the transaction: generating an RSA key may take half a second.
  const keys = await makeKeys(ctx, algorithmsOf(wanted.usesEd25519 ?? false));
  return inTransaction(ctx, async ({ tx }) => {
    await requireWithinLimit(tx, { customerId, limit: 'sending_domains_max', field: 'name' });
    if ((await countDomains(tx, customerId)) >= DOMAINS_PER_CUSTOMER_MAX) throw tooManyDomains();
    if (wanted.isDefault) await unsetDefault(tx);
    const id = await insertDomain(tx, {
      customerId,
      uid: newUid(),
      name: wanted.name,
      token: randomBytes(16).toString('hex'),
      isDefault: wanted.isDefault ?? false,
      usesEd25519: wanted.usesEd25519 ?? false,
      returnPathHost: `${wanted.returnPathSubdomain ?? RETURN_PATH_SUBDOMAIN}.${wanted.name}`,
      trackingHost: `${wanted.trackingSubdomain ?? TRACKING_SUBDOMAIN}.${wanted.name}`,
    });
    if (id === undefined) throw domainExists(wanted.name);
    for (const key of keys) await insertKey(tx, { customerId, id }, key);
    return { customerId, id };
  });
}

export interface MadeKey extends NewDkimKey {
  readonly selector: string;
  readonly algorithm: DkimAlgorithm;
}

/** One key for each algorithm, with unused selectors. */
export async function makeKeys(ctx: Context, algorithms: readonly DkimAlgorithm[]): Promise<MadeKey[]> {
  return Promise.all(
    algorithms.map(async (algorithm) => {
      const selector = `mw${randomBytes(5).toString('hex')}`;
      return { selector, algorithm, ...(await makeDkimKey(ctx.installation.secret, selector, algorithm)) };
    }),
  );
}

/** RSA always: not every receiver knows Ed25519 (RFC 8463 3). */
export function algorithmsOf(usesEd25519: boolean): readonly DkimAlgorithm[] {
  return usesEd25519 ? ['rsa-sha256', 'ed25519-sha256'] : ['rsa-sha256'];
}
