/** Changes a bounce handler: a new address is tested before anything is stored. */
import type { z } from 'zod';
import { parseInput } from '../../lib/text.ts';
import { administers } from '../billing/billing-rights.ts';
import { inTransaction, type Context } from '../context.ts';
import { passwordNeeded } from './bounce-handler-errors.ts';
import { mailboxAddressOf, sealPassword, updateHandlerRow } from './bounce-handler-store.ts';
import {
  folderOf,
  updateBounceHandlerInput,
  usualPort,
  type BounceHandler,
  type MailboxAddress,
  type UpdateBounceHandlerInput,
} from './bounce-handler.ts';
import { findOwnedBounceHandler } from './find-owned-bounce-handler.ts';
import { tryMailbox } from './try-mailbox.ts';

type Changes = z.output<typeof updateBounceHandlerInput>;

/**
 * Changes the given values; the password may be left out for the same server. Throws ValidationError on the input, `host` or
 * `connection`; NotFoundError, ForeignResourceError.
 */
export async function updateBounceHandler(
  ctx: Context,
  { uid, ...input }: UpdateBounceHandlerInput & { uid: string },
): Promise<BounceHandler> {
  const before = await findOwnedBounceHandler(ctx, uid);
  const wanted = parseInput(updateBounceHandlerInput, input);
  const present = mailboxAddressOf(ctx.installation.secret, before);
  const address = addressAfter(present, wanted);
  const isElsewhere = JSON.stringify(address) !== JSON.stringify(present);
  if (wanted.password === undefined && serverOf(address) !== serverOf(present)) throw passwordNeeded();
  // Outside of the transaction: a connection may take seconds.
  if (isElsewhere) await tryMailbox(ctx, { address, isSystem: before.isSystem && administers(ctx) });
  return inTransaction(ctx, async (tx) => {
    const handler = await findOwnedBounceHandler(tx, uid, { lock: true });
    const { password, ...place } = address;
    const after: BounceHandler = {
      ...handler,
      ...(isElsewhere ? { ...place, sealedPassword: sealPassword(ctx.installation.secret, uid, password) } : {}),
      name: wanted.name ?? handler.name,
      keepsReports: wanted.keepsReports ?? handler.keepsReports,
      status: wanted.status ?? handler.status,
    };
    await updateHandlerRow(tx.db, after, { isElsewhere });
    return after;
  });
}

function addressAfter(present: MailboxAddress, wanted: Changes): MailboxAddress {
  const protocol = wanted.protocol ?? present.protocol;
  const encryption = wanted.encryption ?? present.encryption;
  const isUsual = present.port === usualPort(present.protocol, present.encryption);
  const portBefore = isUsual ? usualPort(protocol, encryption) : present.port;
  return {
    protocol,
    encryption,
    host: wanted.host ?? present.host,
    port: wanted.port ?? (wanted.port === null ? usualPort(protocol, encryption) : portBefore),
    username: wanted.username ?? present.username,
    folder: wanted.folder === undefined ? present.folder : folderOf(wanted.folder),
    password: wanted.password ?? present.password,
  };
}

/** The server that gets the password, and how the connection is protected. */
function serverOf({ host, port, encryption, protocol }: MailboxAddress): string {
  return JSON.stringify([host, port, encryption, protocol]);
}
