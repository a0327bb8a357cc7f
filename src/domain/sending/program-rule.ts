/**
 * Drivers that start programs of this machine (`programKeys`): for an administrator's servers only, and only programs that the operator has
 * listed in the environment, where no administrator can change it. Paths are compared as they are written; no link is followed.
 */
import type { FieldErrors } from '../../lib/errors.ts';
import type { DriverSettings, SendingDriverRegistration } from '../../plugin-api/index.ts';
import type { Context } from '../context.ts';
import { systemOnly } from './sending-server-errors.ts';

type Driver = Pick<SendingDriverRegistration, 'type' | 'programKeys'>;
type Host = Pick<Context, 'installation'>;

/** Throws ValidationError `SENDING_SERVER_SYSTEM_ONLY` on `type`, unless the server may run programs. */
export function requireSystem(driver: Driver, { isSystem }: { readonly isSystem: boolean }): void {
  if (!isSystem && runsPrograms(driver)) throw systemOnly(driver.type);
}

/** What is wrong with the programs in the settings, by key. */
export function programFaults({ installation }: Host, driver: Driver, settings: DriverSettings): FieldErrors {
  const allowed = installation.sendingPrograms ?? [];
  const wrong = (driver.programKeys ?? []).filter((key) => !allowed.some((program) => program === settings[key]));
  const list = allowed.length === 0 ? 'It allows none now.' : `It allows: ${allowed.join(', ')}.`;
  const message = `This program is not in SENDING_PROGRAMS, a setting of the environment. ${list}`;
  return Object.fromEntries(wrong.map((key) => [key, [message]]));
}

/** Why a stored server may not be used, in a sentence; null: it may. */
export function programFault(
  ctx: Host,
  driver: Driver,
  { isSystem, settings }: { readonly isSystem: boolean; readonly settings: DriverSettings },
): string | null {
  if (!isSystem && runsPrograms(driver))
    return `Servers of type ${driver.type} run a program of this machine, and a customer's server may not.`;
  return Object.values(programFaults(ctx, driver, settings)).flat()[0] ?? null;
}

function runsPrograms({ programKeys = [] }: Driver): boolean {
  return programKeys.length > 0;
}
