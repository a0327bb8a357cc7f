/** Why nothing can be sent through a stored server, as its owner sees it. */
import type { Context } from '../context.ts';
import { driverOfType, missingDriver } from './driver-of-type.ts';
import { programFault } from './program-rule.ts';
import { parsePublicSettings } from './server-secrets.ts';

/** A sentence; null: its driver is there, and may do its work. */
export function serverFault(
  ctx: Pick<Context, 'hooks' | 'installation'>,
  { type, isSystem, settings }: { readonly type: string; readonly isSystem: boolean; readonly settings: unknown },
): string | null {
  const driver = driverOfType(ctx.hooks, type);
  if (!driver) return missingDriver(ctx.hooks, type);
  return programFault(ctx, driver, { isSystem, settings: parsePublicSettings(settings) });
}
