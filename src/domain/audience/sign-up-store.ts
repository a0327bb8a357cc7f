/** How often the public signed up from where: tokens of a bucket that fills again (hot.rate_bucket). */
import { sql, type Queryable } from '../../db/database.ts';

const BUCKET = 'sign-up:';

/** Takes one try from whoever this digest stands for; false when there is none left. */
export async function takeSignUp(
  db: Queryable,
  digest: string,
  { triesMax, triesPerSecond }: { readonly triesMax: number; readonly triesPerSecond: number },
): Promise<boolean> {
  const [row] = await db.query<{ granted: number }>(
    sql`SELECT hot.take_tokens(${BUCKET + digest}, 1, ${triesMax}::float8, ${triesPerSecond}::float8) AS granted`,
    'audience.sign_up_tokens',
  );
  return row?.granted === 1;
}

/** Forgets who signed up from where, when it does not matter any more. */
export async function deleteOldSignUps(db: Queryable): Promise<void> {
  await db.execute(
    sql`DELETE FROM hot.rate_bucket WHERE key LIKE ${`${BUCKET}%`} AND refilled_at < now() - interval '1 day'`,
  );
}
