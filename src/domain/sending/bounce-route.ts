/** How bounces of a sending server come back: by mail to the sender of the envelope, or by reports of a vendor that takes them itself. */
import type { SendingDriverRegistration } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { driverOfType } from './driver-of-type.ts';
import { typesOfServersFor } from './sending-server-read-model.ts';
import { parsePublicSettings, unsealSecrets } from './server-secrets.ts';
import type { WebhookOwner } from './webhook-servers.ts';

export type BounceRoute = 'mail' | 'reports';

/** Null: there is no such driver. */
export function bounceRouteOf(driver: SendingDriverRegistration | undefined): BounceRoute | null {
  if (!driver) return null;
  return driver.replacesReturnPath === true ? 'reports' : 'mail';
}

/** Why bounces of the server are not known here, and what to do; null: they come by mail, or its vendor has reported something. */
export async function bounceWarning(
  { hooks, installation }: Pick<Context, 'hooks' | 'installation'>,
  { uid, type, settings, sealedSettings }: WebhookOwner,
  { hasReported }: { hasReported: () => Promise<boolean> },
): Promise<string | null> {
  const driver = driverOfType(hooks, type);
  if (!driver || bounceRouteOf(driver) === 'mail') return null;
  if (!driver.webhook)
    return `The vendor takes bounces itself, and servers of type ${type} take no reports: bounces and complaints are not known here.`;
  const { reportKeys = [] } = driver;
  const given = { ...parsePublicSettings(settings), ...unsealSecrets(installation.secret, uid, sealedSettings) };
  const missing = reportKeys.filter((key) => (given[key] ?? '') === '');
  if (missing.length > 0)
    return `The vendor takes bounces itself, and its reports are not believed without ${missing.join(' and ')}: set this, and enter the webhook address at the vendor.`;
  if (await hasReported()) return null;
  return 'The vendor takes bounces itself, and has reported nothing in the last 31 days. If mail was sent, enter the webhook address at the vendor: without reports, bounces and complaints are not known here.';
}

/** Whether every server that may carry the customer's mail leaves bounces to its vendor; false where there is none. */
export async function doVendorsTakeBounces(
  { db, hooks }: Pick<Context, 'db' | 'hooks'>,
  customerId: bigint,
): Promise<boolean> {
  const types = await typesOfServersFor(db, customerId);
  return types.length > 0 && types.every((type) => bounceRouteOf(driverOfType(hooks, type)) === 'reports');
}
