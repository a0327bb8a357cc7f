/** Finds an import by its uid for the caller: own, foreign or unknown. */
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignImport, importNotFound } from './list-import-errors.ts';
import { findImport, importExists } from './list-import-store.ts';
import type { ListImport } from './list-import.ts';

/** The caller's import. Throws NotFoundError `IMPORT_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedImport(ctx: Context, uid: string): Promise<ListImport> {
  return (await find(ctx, uid)) ?? refuse(ctx, uid);
}

/** The same, locked until the transaction ends. */
export async function lockOwnedImport(ctx: Context, uid: string): Promise<ListImport> {
  return (await find(ctx, uid, true)) ?? refuse(ctx, uid);
}

async function find(ctx: Context, uid: string, lock = false): Promise<ListImport | undefined> {
  return isUid(uid) ? findImport(ctx.db, { customerId: viewerOf(ctx).customerId, uid }, lock) : undefined;
}

async function refuse(ctx: Context, uid: string): Promise<never> {
  throw (await importExists(ctx.db, uid)) ? foreignImport() : importNotFound();
}
