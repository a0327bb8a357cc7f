/** Changes a verification server: new settings are tested like those of a new one before anything is stored. */
import type { z } from 'zod';
import { InputFaults } from '../../lib/input-faults.ts';
import { administers } from '../billing/billing-rights.ts';
import { inTransaction, type Context } from '../context.ts';
import { sealSecrets } from '../sending/server-secrets.ts';
import { findOwnedVerificationServer } from './find-owned-verification-server.ts';
import { checkVerifierSettings, storedVerifierSettings, tryVerifier } from './open-verifier.ts';
import { verifierTypeFixed } from './verification-server-errors.ts';
import { updateVerificationServerRow } from './verification-server-store.ts';
import {
  updateVerificationServerInput,
  type UpdateVerificationServerInput,
  type VerificationServer,
  type VerificationServerValues,
} from './verification-server.ts';

type Changes = z.output<typeof updateVerificationServerInput>;

/**
 * Changes the given values; other settings stay, credentials included. Throws ValidationError on the input, `settings.<key>` or
 * `connection`; NotFoundError, ForeignResourceError.
 */
export async function updateVerificationServer(
  ctx: Context,
  { uid, ...input }: UpdateVerificationServerInput & { readonly uid: string },
): Promise<VerificationServer> {
  const before = await findOwnedVerificationServer(ctx, uid);
  const { name, status, perMinuteMax, settings } = checkedChanges(ctx, before, input);
  const tried = settings && (await triedSettings(ctx, before, settings));
  return inTransaction(ctx, async (inner) => {
    const server = await findOwnedVerificationServer(inner, uid, { lock: true });
    await updateVerificationServerRow(inner.db, server, { name, status, perMinuteMax, ...tried });
    return findOwnedVerificationServer(inner, uid);
  });
}

/** The changes; all their faults are thrown together, those of the settings among them. */
function checkedChanges(ctx: Context, server: VerificationServer, input: UpdateVerificationServerInput): Changes {
  const faults = new InputFaults();
  const wanted = faults.readRight(updateVerificationServerInput, input);
  faults.catch(() => {
    if (wanted.type !== undefined && wanted.type !== server.type) throw verifierTypeFixed();
    if (wanted.settings !== undefined) checkVerifierSettings(ctx, settingsWith(ctx, server, wanted.settings));
  });
  faults.check();
  return wanted;
}

/** The present settings with the given ones. */
function settingsWith(ctx: Context, server: VerificationServer, settings: NonNullable<Changes['settings']>) {
  const all = { ...storedVerifierSettings(ctx, server), ...settings };
  return { type: server.type, settings: all, given: Object.keys(settings) };
}

/** Outside of the transaction: a test may take seconds. */
async function triedSettings(
  ctx: Context,
  server: VerificationServer,
  settings: NonNullable<Changes['settings']>,
): Promise<VerificationServerValues> {
  const isSystem = server.isSystem && administers(ctx);
  const tried = await tryVerifier(ctx, { ...settingsWith(ctx, server, settings), isSystem });
  const sealedSettings = sealSecrets(ctx.installation.secret, server.uid, tried.secrets, 'email-verification-server');
  return { settings: tried.settings, sealedSettings };
}
