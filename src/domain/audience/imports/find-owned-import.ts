/** Resolves an import's uid for the caller: his own, somebody else's, or nobody's. */
import { empty, sql, type Sql } from '../../../db/database.ts';
import { isUid } from '../../../lib/ids.ts';
import { viewerOf, type Context } from '../../context.ts';
import { foreignImport, importNotFound } from './list-import-errors.ts';
import { IMPORT_COLUMNS } from './list-import-store.ts';
import type { ListImport } from './list-import.ts';

/** The caller's import. Throws NotFoundError `IMPORT_NOT_FOUND`, ForeignResourceError of the same code. */
export async function findOwnedImport(ctx: Context, uid: string): Promise<ListImport> {
  return (await find(ctx, uid, empty)) ?? refuse(ctx, uid);
}

/** The same, locked until the transaction ends. */
export async function lockOwnedImport(ctx: Context, uid: string): Promise<ListImport> {
  return (await find(ctx, uid, sql`FOR NO KEY UPDATE`)) ?? refuse(ctx, uid);
}

async function find(ctx: Context, uid: string, lock: Sql): Promise<ListImport | undefined> {
  const { customerId } = viewerOf(ctx);
  if (!isUid(uid)) return undefined;
  const [row] = await ctx.db.query<ListImport>(
    sql`SELECT ${IMPORT_COLUMNS} FROM mail_list_import i WHERE customer_id = ${customerId} AND uid = ${uid} ${lock}`,
  );
  return row;
}

async function refuse(ctx: Context, uid: string): Promise<never> {
  const [other] = await ctx.db.query(sql`SELECT 1 FROM mail_list_import WHERE uid = ${uid} LIMIT 1`);
  throw other ? foreignImport() : importNotFound();
}
