/**
 * Which hosts are or were tracking hosts of customers: under those only the links of mails are served, never the API or a login.
 * Triggers keep former hosts (hot.keep_tracking_host), because their DNS often stays. Asked for every request that is no link, so
 * results are cached for a while.
 */
import { sql, type Queryable } from '../../../db/database.ts';

const KEPT_MS = 60_000;
/** Hosts come from the request: invented ones must not fill the memory. */
const KEPT_MAX = 1_000;
const HOST = /^[a-z0-9.-]{1,253}$/;

/** Returns whether a host is or was a customer's tracking host. `own` is the installation's, which is none. */
export function createTrackingHosts(db: Queryable, own: string): (host: string) => Promise<boolean> {
  const kept = new Map<string, { isTracking: boolean; until: number }>();
  return async (host) => {
    if (host === own || !HOST.test(host)) return false;
    const known = kept.get(host);
    if (known && known.until > performance.now()) return known.isTracking;
    const rows = await db.execute(
      sql`SELECT 1 FROM sending_domain WHERE tracking_host = ${host} AND tracking_url <> ''
          UNION ALL SELECT 1 FROM hot.former_tracking_host WHERE host = ${host} LIMIT 1`,
      'sending.is-tracking-host',
    );
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(host, { isTracking: rows > 0, until: performance.now() + KEPT_MS });
    return rows > 0;
  };
}
