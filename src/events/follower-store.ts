/** Writes of followers: who reads for one, up to where, and what failed. */
import { row, sql, type Queryable } from '../db/database.ts';
import { LAST_EVENT_ID } from './event-store.ts';

/** A process that dies is replaced after this time; it renews its lease three times as often. */
const LEASE_SECONDS = 6;
export const RENEW_MS = 2_000;

/** Texts of errors that are kept. */
const ERROR_LENGTH_MAX = 500;

export interface FollowerKey {
  readonly name: string;
  /** The process. */
  readonly holder: string;
}

/** Makes the followers that are new. They begin with the events from now on. */
export async function makeFollowers(
  db: Queryable,
  followers: readonly { readonly name: string; readonly owner: string }[],
): Promise<void> {
  await db.execute(sql`
    INSERT INTO hot.event_follower (name, owner, position)
    SELECT f.name, f.owner, ${LAST_EVENT_ID}
      FROM unnest(${followers.map(({ name }) => name)}::text[], ${followers.map(({ owner }) => owner)}::text[]) AS f (name, owner)
     -- Where all reads see one state of the database, the conflict with a row that has moved meanwhile would be an error.
     WHERE NOT EXISTS (SELECT FROM hot.event_follower e WHERE e.name = f.name)
    ON CONFLICT (name) DO NOTHING`);
}

const HELD_ROW = row({ position: 'bigint', failures: 'int' });

/**
 * Takes or renews the process's lease. Undefined: another process holds the follower, or it is cut off. A lease that ends later
 * than it can is from before the clock was set back.
 */
export async function holdFollower(db: Queryable, { name, holder }: FollowerKey) {
  const [held] = await db.query(
    HELD_ROW,
    sql`UPDATE hot.event_follower SET holder = ${holder}::uuid, lease_ends_at = now() + make_interval(secs => ${LEASE_SECONDS})
         WHERE name = ${name} AND cut_off_at IS NULL
           AND (holder IS NULL OR holder = ${holder}::uuid
                OR lease_ends_at NOT BETWEEN now() AND now() + make_interval(secs => ${LEASE_SECONDS}))
        RETURNING position, failures`,
    'events.hold',
  );
  return held;
}

/**
 * Stores that all events after `from` up to `to` are handled. False: another process holds the follower now, it is cut off, or it
 * was moved meanwhile, by another holder or an operator.
 */
export async function moveFollower(
  db: Queryable,
  { name, holder }: FollowerKey,
  { from, to }: { readonly from: bigint; readonly to: bigint },
): Promise<boolean> {
  const moved = await db.execute(
    sql`UPDATE hot.event_follower
           SET position = ${to}, moved_at = now(), failures = 0, last_error = NULL,
               lease_ends_at = now() + make_interval(secs => ${LEASE_SECONDS})
         WHERE name = ${name} AND holder = ${holder}::uuid AND position = ${from} AND cut_off_at IS NULL`,
    'events.move',
  );
  return moved > 0;
}

/** Stores that the next events could not be handled. */
export async function recordFailure(db: Queryable, { name, holder }: FollowerKey, message: string): Promise<void> {
  await db.execute(
    sql`UPDATE hot.event_follower SET failures = failures + 1, last_error = ${message.slice(0, ERROR_LENGTH_MAX)}
         WHERE name = ${name} AND holder = ${holder}::uuid`,
  );
}

/** Lets another process hold this follower at once. */
export async function releaseFollower(db: Queryable, { name, holder }: FollowerKey): Promise<void> {
  await db.execute(
    sql`UPDATE hot.event_follower SET holder = NULL, lease_ends_at = NULL WHERE name = ${name} AND holder = ${holder}::uuid`,
  );
}

/** Lets another process hold this one's followers at once. */
export async function releaseFollowers(db: Queryable, holder: string): Promise<void> {
  await db.execute(
    sql`UPDATE hot.event_follower SET holder = NULL, lease_ends_at = NULL WHERE holder = ${holder}::uuid`,
  );
}

/** Stores for which followers the next event is older than so many days, and since when that is known. */
export async function markBehind(db: Queryable, days: number): Promise<void> {
  await db.execute(sql`
    UPDATE hot.event_follower f SET behind_since = CASE WHEN b.is_behind THEN now() END
      FROM (SELECT name, coalesce((SELECT e.happened_at FROM hot.event e WHERE e.id > position ORDER BY e.id LIMIT 1)
                                  < now() - make_interval(days => ${days}::int), false) AS is_behind
              FROM hot.event_follower) b
     WHERE f.name = b.name AND b.is_behind <> (f.behind_since IS NOT NULL)`);
}

/**
 * Cuts off the followers that have been marked as behind for nearly an hour; returns them. By an earlier mark, not at once: jobs and
 * followers begin together after a hold, a week without workers or a restore, and followers can catch up then.
 */
export function cutOffFollowers(db: Queryable) {
  return db.query(
    { name: 'text', owner: 'text' },
    sql`UPDATE hot.event_follower SET cut_off_at = now(), holder = NULL, lease_ends_at = NULL
         WHERE cut_off_at IS NULL AND behind_since < now() - interval '50 minutes' RETURNING name, owner`,
  );
}

/** Lets a follower begin with what happens from now on, also one that was cut off. Returns whether there is one of this name. */
export async function followAgain(db: Queryable, name: string): Promise<boolean> {
  const again = await db.execute(sql`
    UPDATE hot.event_follower
       SET position = ${LAST_EVENT_ID}, cut_off_at = NULL, behind_since = NULL, failures = 0, last_error = NULL, holder = NULL, lease_ends_at = NULL
     WHERE name = ${name}`);
  return again > 0;
}

/** Makes the followers that are new, and lets those that were cut off begin with the events from now on. */
export async function beginFollowers(
  db: Queryable,
  followers: readonly { readonly name: string; readonly owner: string }[],
): Promise<void> {
  await makeFollowers(db, followers);
  await db.execute(sql`
    UPDATE hot.event_follower
       SET position = ${LAST_EVENT_ID}, cut_off_at = NULL, behind_since = NULL, failures = 0, last_error = NULL
     WHERE name = ANY(${followers.map(({ name }) => name)}::text[]) AND cut_off_at IS NOT NULL`);
}

/** Removes the followers of a plugin that is deleted. */
export async function removeFollowersOf(db: Queryable, owner: string): Promise<void> {
  await db.execute(sql`DELETE FROM hot.event_follower WHERE owner = ${owner}`);
}

/** Forgets a follower that nobody runs any more. Returns whether there was one of this name. */
export async function removeFollower(db: Queryable, name: string): Promise<boolean> {
  return (await db.execute(sql`DELETE FROM hot.event_follower WHERE name = ${name}`)) > 0;
}
