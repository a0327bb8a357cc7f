/** What operators see of followers. */
import { row, sql, type Queryable, type RowOf } from '../db/database.ts';

const FOLLOWER_ROW = row({
  name: 'text',
  /** The product (`mailwright`) or a plugin. */
  owner: 'text',
  /** Age of the oldest event that it has not handled; 0: it has handled all. */
  behindSeconds: 'float8',
  /** Tries of the next events that failed. */
  failures: 'int',
  lastError: 'text?',
  cutOffAt: 'timestamptz?',
});
export type FollowerState = RowOf<typeof FOLLOWER_ROW>;

/** A plugin has one or two; a longer list nobody reads. */
const FOLLOWERS_MAX = 1_000;

/** All followers by name. */
export function followerStates(db: Queryable): Promise<FollowerState[]> {
  return db.query(
    FOLLOWER_ROW,
    sql`SELECT name, owner, failures, last_error AS "lastError", cut_off_at AS "cutOffAt",
               coalesce((SELECT greatest(0, extract(epoch FROM now() - e.happened_at))::float8 FROM hot.event e
                          WHERE e.id > f.position ORDER BY e.id LIMIT 1), 0) AS "behindSeconds"
          FROM hot.event_follower f ORDER BY name LIMIT ${FOLLOWERS_MAX}`,
  );
}
