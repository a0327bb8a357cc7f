/** The hold of the installation, as the row of `setting` that it is. */
import { sql, type Queryable } from '../../db/database.ts';
import { HOLD_KEY } from '../campaigns/installation-hold-read-model.ts';

export interface GuardRow {
  readonly key: string;
  readonly value: { readonly since?: string; readonly reason?: string };
}

/** What there is of the hold and the place; every sign of life asks. */
export function storedGuard(db: Queryable, [hold, place]: readonly [string, string]): Promise<GuardRow[]> {
  return db.query<GuardRow & Record<string, unknown>>(
    sql`SELECT key, value FROM setting WHERE key IN (${hold}, ${place})`,
    'installation.guard-state',
  );
}

/** Holds from now on; a hold that is there stays as it is. */
export async function insertHold(db: Queryable, reason: string): Promise<void> {
  await db.execute(
    sql`INSERT INTO setting (key, value) VALUES (${HOLD_KEY}, jsonb_build_object('since', now(), 'reason', ${reason}::text)) ON CONFLICT (key) DO NOTHING`,
  );
}
