/** The hold of the installation: one row of the table `setting`. */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { HOLD_KEY } from '../accounts/installation-hold-read-model.ts';

const GUARD_ROW = row({
  key: 'text',
  value: typed<{ readonly since?: string; readonly reason?: string }>('json'),
});
export type GuardRow = RowOf<typeof GUARD_ROW>;

/** What there is of the hold and the place; every sign of life asks. */
export function storedGuard(db: Queryable, [hold, place]: readonly [string, string]): Promise<GuardRow[]> {
  return db.query(
    GUARD_ROW,
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
