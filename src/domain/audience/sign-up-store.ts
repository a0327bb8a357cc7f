/** How often sign-ups came from an address: tokens of a bucket (hot.rate_bucket). */
import { sql, type Queryable } from '../../db/database.ts';

const BUCKET = 'sign-up:';

/** Takes one try for the address with this digest; false when none is left. */
export async function takeSignUp(
  db: Queryable,
  digest: string,
  { triesMax, triesPerSecond }: { readonly triesMax: number; readonly triesPerSecond: number },
): Promise<boolean> {
  const [row] = await db.query(
    { granted: 'int' },
    sql`SELECT hot.take_tokens(${BUCKET + digest}, 1, ${triesMax}::float8, ${triesPerSecond}::float8) AS granted`,
    'audience.sign_up_tokens',
  );
  return row?.granted === 1;
}

/** Deletes buckets that are full again. */
export async function deleteOldSignUps(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.rate_bucket WHERE key LIKE ${`${BUCKET}%`} AND refilled_at < now() - interval '1 day'`,
  );
}
