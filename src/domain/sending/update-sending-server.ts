/** Changes a sending server: new settings are tested like those of a new one before anything is stored. */
import { parseInput } from '../../lib/text.ts';
import { administers } from '../billing/billing-rights.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { connectionsOf } from './create-sending-server.ts';
import { findOwnedSendingServer } from './find-owned-sending-server.ts';
import { tryAtOnce } from './reset-server-health.ts';
import { typeFixed } from './sending-server-errors.ts';
import { updateServerRow } from './sending-server-store.ts';
import {
  quotaColumns,
  updateSendingServerInput,
  type SendingServer,
  type ServerValues,
  type StoredServer,
  type UpdateSendingServerInput,
} from './sending-server.ts';
import { parsePublicSettings, sealSecrets, unsealSecrets } from './server-secrets.ts';
import { trySettings } from './try-settings.ts';
import type { z } from 'zod';

type Changes = z.output<typeof updateSendingServerInput>;

/**
 * Changes the given values; other settings stay, credentials included. Throws ValidationError on the input, `settings.<key>` or
 * `connection`; NotFoundError, ForeignResourceError.
 */
export async function updateSendingServer(
  ctx: Context,
  { uid, ...input }: UpdateSendingServerInput & { uid: string },
): Promise<SendingServer> {
  viewerOf(ctx);
  const before = await findOwnedSendingServer(ctx, uid);
  const wanted = parseInput(updateSendingServerInput, input);
  if (wanted.type !== undefined && wanted.type !== before.type) throw typeFixed();
  const settings = await triedSettings(ctx, before, wanted);
  return inTransaction(ctx, async (tx) => {
    const server = await findOwnedSendingServer(tx, uid, { lock: true });
    await updateServerRow(tx.db, server, { ...plainChanges(server, wanted), ...settings });
    // The settings were just tested, or waiting messages may use the server now.
    if (wanted.settings !== undefined || wanted.status === 'active') await tryAtOnce(tx.db, server);
    return { ...server, name: wanted.name ?? server.name, status: wanted.status ?? server.status };
  });
}

/** Outside of the transaction: a connection may take seconds. */
async function triedSettings(ctx: Context, server: StoredServer, { settings }: Changes): Promise<ServerValues> {
  if (settings === undefined) return {};
  const { secret } = ctx.installation;
  const present = {
    ...parsePublicSettings(server.settings),
    ...unsealSecrets(secret, server.uid, server.sealedSettings),
  };
  const tried = await trySettings(ctx, {
    type: server.type,
    settings: { ...present, ...settings },
    given: Object.keys(settings),
    isSystem: server.isSystem && administers(ctx),
  });
  return {
    settings: tried.settings,
    sealedSettings: sealSecrets(secret, server.uid, tried.secrets),
    connectionsMax: connectionsOf(tried.settings),
  };
}

function plainChanges(server: StoredServer, wanted: Changes): ServerValues {
  const touchesQuota =
    wanted.quotaValue !== undefined || wanted.quotaBase !== undefined || wanted.quotaUnit !== undefined;
  return {
    name: wanted.name,
    status: wanted.status,
    domainLimits: wanted.domainLimits === null ? {} : wanted.domainLimits,
    warmUp: wanted.warmUp,
    defaultFromEmail: wanted.defaultFromEmail === null ? '' : wanted.defaultFromEmail,
    ...(touchesQuota ? quotaColumns({ ...server, ...given(wanted) }) : {}),
  };
}

function given({ quotaValue, quotaBase, quotaUnit }: Changes): Partial<Changes> {
  return {
    ...(quotaValue === undefined ? {} : { quotaValue }),
    ...(quotaBase === undefined ? {} : { quotaBase }),
    ...(quotaUnit === undefined ? {} : { quotaUnit }),
  };
}
