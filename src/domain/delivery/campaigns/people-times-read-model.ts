/**
 * When each of a campaign's recipients gets it: at once, at a local time, never in quiet hours. Computed in SQL when the audience
 * is written to the ledger, by the database's time zones (which know clock changes).
 */
import { sql, row, type Queryable, type Sql } from '../../../db/database.ts';
import { parseQuietHours, type QuietHours } from '../../audience/quiet-hours.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';

export interface PeopleTimes {
  /** No mail is sent before. */
  readonly base: Date;
  /** `HH:MM[:SS]` local time; null: at once. */
  readonly localTime: string | null;
  readonly quiet: QuietHours | null;
  /** The zone of people without their own. */
  readonly zone: string;
  /** The field with a person's own zone; null: unknown for all. */
  readonly zoneTag: string | null;
}

const PEOPLE_TIMES_ROW = row({
  localTime: 'text?',
  base: 'timestamptz',
  zone: 'text',
  zoneTag: 'text?',
  quietHours: 'json?',
});

/** The times that the campaign and its list set; null: everybody gets it at once. */
export async function peopleTimesOf(
  db: Queryable,
  { customerId, campaignId }: CampaignKey,
): Promise<PeopleTimes | null> {
  const [row] = await db.query(
    PEOPLE_TIMES_ROW,
    sql`SELECT greatest(coalesce(c.delivery_at, c.started_at), c.started_at) AS base, coalesce(l.timezone, u.timezone) AS zone, l.timezone_tag AS "zoneTag",
               CASE WHEN c.deliver_in_subscriber_timezone THEN
                 coalesce(c.local_time, (coalesce(c.delivery_at, c.started_at) AT TIME ZONE coalesce(l.timezone, u.timezone))::time::text) END AS "localTime",
               coalesce(c.quiet_hours, l.quiet_hours) AS "quietHours"
          FROM campaign c
          JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}
           AND (c.deliver_in_subscriber_timezone OR coalesce(c.quiet_hours, l.quiet_hours) IS NOT NULL)`,
  );
  if (!row) return null;
  const { quietHours, ...times } = row;
  const quiet = parseQuietHours(quietHours);
  return times.localTime === null && quiet === null ? null : { ...times, quiet };
}

/** For people of the set `person (zone)`: a set `moment (zone, at)`, one row per zone. */
export function sendTimesOfPeople({ base, localTime, quiet, zone }: PeopleTimes, zones: readonly string[]): Sql {
  return sql`SELECT z.zone, hot.send_time(coalesce(n.name, ${zone}), ${base}::timestamptz, ${localTime}::time,
                      ${quiet?.from ?? null}::time, ${quiet?.to ?? null}::time, ${quiet?.timezone ?? null}::text) AS at
               FROM (SELECT DISTINCT zone FROM person) z
               LEFT JOIN unnest(${[...zones]}::text[]) AS n(name) ON lower(n.name) = lower(trim(z.zone))`;
}

/** A person's own zone as it is in the field, empty when there is none; of a subscriber `s`. */
export function zoneOf({ zoneTag, quiet, localTime }: PeopleTimes): Sql {
  const isAsked = zoneTag !== null && (localTime !== null || (quiet !== null && !quiet.timezone));
  return isAsked ? sql`coalesce(s.fields ->> ${zoneTag}, '')` : sql`''`;
}

let known: Promise<readonly string[]> | undefined;

/** The zones that the database knows: read once, because it reads files. */
export function knownZones(db: Queryable): Promise<readonly string[]> {
  known ??= db
    .query(
      { name: 'text' },
      sql`SELECT name FROM pg_timezone_names WHERE name NOT LIKE 'posix%' AND name <> 'localtime'`,
    )
    .then((rows) => rows.map(({ name }) => name))
    .catch((error: unknown) => {
      known = undefined;
      throw error;
    });
  return known;
}

/** When quiet hours by one clock for all end; null: it is not quiet. */
export async function quietUntil(db: Queryable, { quiet, zone, zoneTag }: PeopleTimes): Promise<Date | null> {
  // By each person's own clock no hour is quiet for all.
  if (quiet === null || (!quiet.timezone && zoneTag !== null)) return null;
  const [row] = await db.query(
    { until: 'timestamptz?' },
    sql`SELECT CASE WHEN t.at > now() THEN t.at END AS until
          FROM hot.send_time(${zone}, now(), NULL, ${quiet.from}::time, ${quiet.to}::time, ${quiet.timezone ?? null}::text) AS t(at)`,
    'delivery.quiet-until',
  );
  return row?.until ?? null;
}

/** The zones in which it is quiet by people's own clocks, as in their field: seconds until it ends. */
export async function quietZones(
  db: Queryable,
  { quiet, zone, zoneTag }: PeopleTimes,
  fields: Iterable<Readonly<Record<string, unknown>>>,
): Promise<(fields: Readonly<Record<string, unknown>>) => number> {
  if (quiet === null || quiet.timezone || zoneTag === null) return () => 0;
  const given = (of: Readonly<Record<string, unknown>>): string => {
    const value = of[zoneTag];
    return typeof value === 'string' ? value.trim().toLowerCase() : '';
  };
  const rows = await db.query(
    { given: 'text', seconds: 'float8' },
    sql`SELECT g.given, extract(epoch FROM hot.send_time(coalesce(n.name, ${zone}), now(), NULL, ${quiet.from}::time, ${quiet.to}::time, NULL) - now())::float8 AS seconds
          FROM unnest(${[...new Set([...fields].map(given))]}::text[]) AS g(given)
          LEFT JOIN unnest(${[...(await knownZones(db))]}::text[]) AS n(name) ON lower(n.name) = g.given`,
    'delivery.quiet-zones',
  );
  const seconds = new Map(rows.map((row) => [row.given, row.seconds]));
  return (of) => seconds.get(given(of)) ?? 0;
}

/** For how long it is quiet for a person with these fields, by the quiet hours of the list; 0: it is not. */
export async function quietSeconds(
  db: Queryable,
  { customerId, listId }: { readonly customerId: bigint; readonly listId: bigint },
  fields: Readonly<Record<string, unknown>>,
): Promise<number> {
  const [list] = await db.query(
    { stored: 'json?', zone: 'text', zoneTag: 'text?' },
    sql`SELECT l.quiet_hours AS stored, coalesce(l.timezone, u.timezone) AS zone, l.timezone_tag AS "zoneTag"
          FROM mail_list l JOIN customer u ON u.id = l.customer_id
         WHERE l.customer_id = ${customerId} AND l.id = ${listId} AND l.quiet_hours IS NOT NULL`,
    'delivery.quiet-list',
  );
  const quiet = parseQuietHours(list?.stored);
  if (!list || quiet === null) return 0;
  const { zone, zoneTag } = list;
  const times = { base: new Date(), localTime: null, quiet, zone, zoneTag };
  const until = await quietUntil(db, times);
  if (until !== null) return Math.max(1, (until.getTime() - Date.now()) / 1_000);
  return (await quietZones(db, times, [fields]))(fields);
}
