/** Changes a sending server: new settings are tested like those of a new one before anything is stored. */
import { isDeepStrictEqual } from 'node:util';
import { InputFaults } from '../../lib/input-faults.ts';
import { administers } from '../billing/billing-rights.ts';
import { inTransaction, viewerOf, type Context } from '../context.ts';
import { findOwnedSendingServer } from './find-owned-sending-server.ts';
import { tryAtOnce } from './reset-server-health.ts';
import { requireOwnServers } from './require-own-servers.ts';
import { changedMeanwhile, typeFixed } from './sending-server-errors.ts';
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
import { checkSettings, trySettings } from './try-settings.ts';
import type { z } from 'zod';

type Changes = z.output<typeof updateSendingServerInput>;

/**
 * Changes the given values; other settings stay, credentials included. Throws ValidationError on the input, `settings.<key>` or
 * `connection`; NotFoundError, ForeignResourceError, WrongStateError `SENDING_SERVER_CHANGED`, and for new settings what
 * `requireOwnServers` throws.
 */
export async function updateSendingServer(
  ctx: Context,
  { uid, ...input }: UpdateSendingServerInput & { uid: string },
): Promise<SendingServer> {
  viewerOf(ctx);
  const before = await findOwnedSendingServer(ctx, uid);
  const wanted = checkedChanges(ctx, before, input);
  if (!before.isSystem && isPutToUse(before, wanted)) await requireOwnServers(ctx.db, before.customerId, before.type);
  const settings = await triedSettings(ctx, before, wanted);
  return inTransaction(ctx, async (tx) => {
    const server = await findOwnedSendingServer(tx, uid, { lock: true });
    // Both were tried, but not together: to write one over the other would drop it.
    if (wanted.settings !== undefined && !hasSameSettings(before, server)) throw changedMeanwhile();
    await updateServerRow(tx.db, server, { ...plainChanges(server, wanted), ...settings });
    // The settings were just tested, or waiting messages may use the server now.
    if (wanted.settings !== undefined || wanted.status === 'active') await tryAtOnce(tx.db, server);
    return { ...server, name: wanted.name ?? server.name, status: wanted.status ?? server.status };
  });
}

/** Renaming a server that the plan does not allow any more, or switching it off, is no use of it. */
function isPutToUse({ status }: StoredServer, wanted: Changes): boolean {
  return wanted.settings !== undefined || (wanted.status === 'active' && status !== 'active');
}

/** The changes; all their faults are thrown together, those of the settings among them. */
function checkedChanges(ctx: Context, server: StoredServer, input: UpdateSendingServerInput): Changes {
  const faults = new InputFaults();
  const wanted = faults.readRight(updateSendingServerInput, input);
  const { type, settings } = wanted;
  faults.catch(() => {
    if (type !== undefined && type !== server.type) throw typeFixed();
    if (settings !== undefined) checkSettings(ctx, settingsWith(ctx, server, settings));
  });
  faults.check();
  return wanted;
}

/** The present settings with the given ones. */
function settingsWith(ctx: Context, server: StoredServer, settings: NonNullable<Changes['settings']>) {
  const present = {
    ...parsePublicSettings(server.settings),
    ...unsealSecrets(ctx.installation.secret, server.uid, server.sealedSettings),
  };
  return {
    type: server.type,
    settings: { ...present, ...settings },
    given: Object.keys(settings),
    isSystem: server.isSystem && administers(ctx),
  };
}

/** Outside of the transaction: a connection may take seconds. */
async function triedSettings(ctx: Context, server: StoredServer, { settings }: Changes): Promise<ServerValues> {
  if (settings === undefined) return {};
  const { secret } = ctx.installation;
  const tried = await trySettings(ctx, settingsWith(ctx, server, settings));
  return {
    settings: tried.settings,
    sealedSettings: sealSecrets(secret, server.uid, tried.secrets),
    connectionsMax: tried.connectionsMax,
  };
}

function hasSameSettings(before: StoredServer, now: StoredServer): boolean {
  return isDeepStrictEqual([before.settings, before.sealedSettings], [now.settings, now.sealedSettings]);
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
