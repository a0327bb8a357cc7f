/** A new sending server: an administrator makes it for the system, a customer for itself (decision D29). */
import { newUid } from '../../lib/ids.ts';
import { InputFaults } from '../../lib/input-faults.ts';
import { administers } from '../billing/billing-rights.ts';
import { requireWithinLimit } from '../billing/plans/require-within-limit.ts';
import { inTransaction, viewerOf, type Context, type TransactionContext } from '../context.ts';
import { requireOwnServers } from './require-own-servers.ts';
import { tooManyServers } from './sending-server-errors.ts';
import { countServers, insertServer } from './sending-server-store.ts';
import {
  createSendingServerInput,
  quotaColumns,
  SERVERS_PER_CUSTOMER_MAX,
  type CreateSendingServerInput,
  type SendingServer,
} from './sending-server.ts';
import { sealSecrets } from './server-secrets.ts';
import { checkSettings, trySettings } from './try-settings.ts';

/**
 * Stores the server when its settings work. Throws ValidationError on the input, `settings.<key>` or `connection`, and
 * what `requireOwnServers` and `requireWithinLimit` throw.
 */
export async function createSendingServer(ctx: Context, input: CreateSendingServerInput): Promise<SendingServer> {
  const { customerId } = viewerOf(ctx);
  // A token without administrator rights creates no system server, and no server at a private address.
  const isSystem = administers(ctx);
  const wanted = checkedServer(ctx, input, isSystem);
  if (!isSystem) await requireOwnServers(ctx.db, customerId, wanted.type);
  // Checked before the connection is tried, too, so that a refusal comes at once.
  await inTransaction(ctx, (inner) => requireServersLeft(inner, { customerId, isSystem }));
  const tried = await trySettings(ctx, { type: wanted.type, settings: wanted.settings, isSystem });
  const uid = newUid();
  return inTransaction(ctx, async (inner) => {
    await requireServersLeft(inner, { customerId, isSystem });
    return insertServer(inner.db, {
      customerId,
      uid,
      name: wanted.name,
      type: wanted.type,
      settings: tried.settings,
      sealedSettings: sealSecrets(ctx.installation.secret, uid, tried.secrets),
      isSystem,
      defaultFromEmail: wanted.defaultFromEmail ?? '',
      connectionsMax: tried.connectionsMax,
      ...quotaColumns(wanted),
      domainLimits: wanted.domainLimits ?? {},
      warmUp: wanted.warmUp ?? null,
    });
  });
}

/** The input; all its faults are thrown together, those of the settings among them. */
function checkedServer(ctx: Context, input: CreateSendingServerInput, isSystem: boolean) {
  const faults = new InputFaults();
  const wanted = faults.read(createSendingServerInput, input);
  const { type, settings } = input;
  if (type) faults.catch(() => checkSettings(ctx, { type, settings: wanted?.settings ?? { ...settings }, isSystem }));
  faults.check();
  if (!wanted) throw new Error('Faults were lost.');
  return wanted;
}

async function requireServersLeft(
  { tx }: TransactionContext,
  { customerId, isSystem }: { customerId: bigint; isSystem: boolean },
): Promise<void> {
  if (!isSystem) await requireWithinLimit(tx, { customerId, limit: 'sending_servers_max', field: 'name' });
  if ((await countServers(tx, customerId)) >= SERVERS_PER_CUSTOMER_MAX) throw tooManyServers();
}
