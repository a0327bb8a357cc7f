/** Whether the installation is on hold: the row that domain/installation writes. */
import { sql, type Queryable } from '../../db/database.ts';

/** The setting for the hold of an installation; its value has `since`. */
export const HOLD_KEY = 'installation.hold';

export async function installationHold(db: Queryable): Promise<{ readonly since: Date | null } | undefined> {
  const [held] = await db.query(
    { since: 'timestamptz?' },
    sql`SELECT (value ->> 'since')::timestamptz AS since FROM setting WHERE key = ${HOLD_KEY}`,
    'accounts.installation-hold',
  );
  return held;
}
