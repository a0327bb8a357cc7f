/** The sending server of a vendor's webhook, with the driver's receiver and its settings. */
import { isUid } from '../../lib/ids.ts';
import type { DriverSettings, WebhookReceiver } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { driverOfType } from './driver-of-type.ts';
import { serversOfType } from './sending-server-read-model.ts';
import { parsePublicSettings, unsealSecrets } from './server-secrets.ts';

export interface WebhookServer {
  readonly customerId: bigint;
  readonly serverId: bigint;
  readonly uid: string;
  readonly type: string;
  readonly isSystem: boolean;
  readonly receiver: WebhookReceiver;
  /** Credentials among them. */
  readonly settings: DriverSettings;
  /** The credentials, which are shown to nobody. */
  readonly secretValues: readonly string[];
}

export interface WebhookOwner {
  readonly type: string;
  readonly uid: string;
  /** The public ones, as they are stored. */
  readonly settings: unknown;
  readonly sealedSettings: Uint8Array | null;
}

/**
 * The address to enter at a server's vendor for its reports, with the secret that is part of it where the vendor signs nothing; null: the
 * driver takes no reports, or is gone.
 */
export function webhookAddressOf({ hooks, installation }: Context, server: WebhookOwner): string | null {
  const { type, uid } = server;
  const receiver = driverOfType(hooks, type)?.webhook;
  if (!receiver) return null;
  const url = `${installation.baseUrl}/webhook/${type}/${uid}`;
  if (!receiver.address) return url;
  const secrets = unsealSecrets(installation.secret, uid, server.sealedSettings);
  return receiver.address(url, { ...parsePublicSettings(server.settings), ...secrets });
}

/** If two customers have the same uid by chance, both are tried. */
const SERVERS_MAX = 3;

/** Servers of this type and uid whose driver takes webhooks; also inactive ones: bounces come after the last message. */
export async function webhookServers(
  { db, hooks, installation }: Context,
  { type, uid }: { type: string; uid: string },
): Promise<readonly WebhookServer[]> {
  const receiver = driverOfType(hooks, type)?.webhook;
  if (!receiver || !isUid(uid)) return [];
  const rows = await serversOfType(db, { type, uid, max: SERVERS_MAX });
  return rows.map(({ customerId, id, isSystem, settings, sealed }) => {
    const secrets = unsealSecrets(installation.secret, uid, sealed);
    return {
      ...{ customerId, serverId: id, uid, type, isSystem, receiver },
      settings: { ...parsePublicSettings(settings), ...secrets },
      secretValues: Object.values(secrets).filter((value) => typeof value === 'string'),
    };
  });
}
