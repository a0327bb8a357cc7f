/** A new verification server: an administrator makes it for the system, a customer for itself. */
import { newUid } from '../../lib/ids.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { administers } from '../billing/billing-rights.ts';
import { requireAllowed } from '../billing/plans/require-allowed.ts';
import { requireWithinLimit } from '../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { sealSecrets } from '../sending/server-secrets.ts';
import { checkVerifierSettings, tryVerifier } from './open-verifier.ts';
import { tooManyVerificationServers } from './verification-server-errors.ts';
import { countVerificationServers, insertVerificationServer } from './verification-server-store.ts';
import {
  createVerificationServerInput,
  VERIFICATION_SERVERS_PER_CUSTOMER_MAX,
  type CreateVerificationServerInput,
  type VerificationServer,
} from './verification-server.ts';

/**
 * Stores the server when its test passes. Throws ValidationError on the input, `settings.<key>` or `connection`, and what `requireAllowed`
 * and `requireWithinLimit` throw.
 */
export async function createVerificationServer(
  ctx: Context,
  input: CreateVerificationServerInput,
): Promise<VerificationServer> {
  const { customerId } = viewerOf(ctx);
  const isSystem = administers(ctx);
  const { name, type, settings, perMinuteMax } = checkedServer(ctx, input);
  if (!isSystem) await requireAllowed(ctx, 'create_email_verification_servers');
  // Before the test, too, so that a refusal comes at once.
  await inTransaction(ctx, (inner) => requireServersLeft(inner, { customerId, isSystem }));
  const tried = await tryVerifier(ctx, { type, settings, isSystem });
  const uid = newUid();
  return inTransaction(ctx, async (inner) => {
    await requireServersLeft(inner, { customerId, isSystem });
    return insertVerificationServer(inner.db, {
      ...{ customerId, uid, name, type, isSystem },
      settings: tried.settings,
      sealedSettings: sealSecrets(ctx.installation.secret, uid, tried.secrets, 'email-verification-server'),
      perMinuteMax: perMinuteMax ?? null,
    });
  });
}

interface Owner {
  readonly customerId: bigint;
  readonly isSystem: boolean;
}

/** The input; all its faults are thrown together, those of the settings among them. */
function checkedServer(ctx: Context, input: CreateVerificationServerInput) {
  const faults = new InputFaults();
  const wanted = faults.read(createVerificationServerInput, input);
  const { type } = input;
  if (type)
    faults.catch(() => checkVerifierSettings(ctx, { type, settings: wanted?.settings ?? { ...input.settings } }));
  faults.check();
  if (!wanted) throw new Error('Faults were lost.');
  return wanted;
}

async function requireServersLeft({ tx }: TransactionContext, owner: Owner): Promise<void> {
  const { customerId, isSystem } = owner;
  if (!isSystem) await requireWithinLimit(tx, { customerId, limit: 'email_verification_servers_max', field: 'name' });
  const count = await countVerificationServers(tx, customerId);
  if (count >= VERIFICATION_SERVERS_PER_CUSTOMER_MAX) throw tooManyVerificationServers();
}
