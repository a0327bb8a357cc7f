/**
 * Which hosts are or were tracking hosts of customers: under those only the links of mails are served, never the API or a login.
 * Triggers keep former hosts (hot.keep_tracking_host), because their DNS often stays. Asked for every request that is no link, so
 * results are cached for a while.
 */
import type { Queryable } from '../../../db/database.ts';
import { isTrackingHost } from './sending-domain-read-model.ts';

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
    const isTracking = await isTrackingHost(db, host);
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(host, { isTracking, until: performance.now() + KEPT_MS });
    return isTracking;
  };
}
