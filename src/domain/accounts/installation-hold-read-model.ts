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

/** The setting that says when the last hold ended; its value has `at`. */
export const RELEASED_KEY = 'installation.released';

/**
 * Whether what began at this time, or was asked for then, may have been done by another installation as well: this one is a copy that was
 * released later. Whoever moves money asks first.
 */
export async function mayBeDoneElsewhere(db: Queryable, at: Date): Promise<boolean> {
  const [released] = await db.query(
    { isBefore: 'bool' },
    sql`SELECT ${at} < (value ->> 'at')::timestamptz AS "isBefore" FROM setting WHERE key = ${RELEASED_KEY}`,
    'accounts.may-be-done-elsewhere',
  );
  return released?.isBefore ?? false;
}
