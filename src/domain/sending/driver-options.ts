/** What the host gives a driver: guarded ways to the server, and the driver of SMTP. */
import { openOutboundPool } from '../../lib/outbound-pool.ts';
import { addressGuard, type AddressGuard } from '../../lib/public-address.ts';
import type { DriverOptions, SendingDriver, SettingsInput } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { driverOfType, missingDriver } from './driver-of-type.ts';
import { formPoster } from './form-poster.ts';

type OwnOptions = Pick<DriverOptions, 'connectionsMax' | 'clientName' | 'replyTimeoutMs' | 'onConnectionRefused'>;

/** A system server may be anywhere; a customer's only at public addresses, also when it is connected to (decision D44). */
export function guardOf({ installation }: Context, { isSystem }: { isSystem: boolean }): AddressGuard | undefined {
  return isSystem ? undefined : addressGuard(installation.outboundAllowHosts);
}

/** All options of `connect`. */
export function driverOptions(ctx: Context, server: { isSystem: boolean }, own: OwnOptions): DriverOptions {
  const guard = guardOf(ctx, server);
  const options: DriverOptions = {
    ...own,
    ...(guard && { lookup: guard.lookup }),
    postForm: formPoster(ctx),
    openHttp: (origin, { connections, timeoutMs }) =>
      openOutboundPool(origin, { connections, timeoutMs, guard, allowed: ctx.installation.outboundAllowHosts }),
    connectSmtp: (settings) => connectSmtp(ctx, settings, options),
  };
  return options;
}

function connectSmtp({ hooks }: Context, input: SettingsInput, options: DriverOptions): SendingDriver {
  const smtp = driverOfType(hooks, 'smtp');
  if (!smtp) throw new Error(missingDriver(hooks, 'smtp') ?? '');
  const checked = smtp.validate(input);
  if (!checked.ok) throw new Error(Object.values(checked.errors).flat().join(' '));
  return smtp.connect(checked.settings, options);
}
