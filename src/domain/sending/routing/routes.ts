/** A choice of servers by weight: what it may contain, and whose servers. */
import { z } from 'zod';
import type { Queryable } from '../../../db/database.ts';
import { isUid } from '../../../lib/ids.ts';
import { singleLine } from '../../../lib/text.ts';
import { foreignServer, serverNotFound } from '../sending-server-errors.ts';
import { nameableServers, systemServersAmong } from '../sending-server-read-model.ts';
import { serverExists } from '../sending-server-store.ts';

/** More servers at once are a mistake; a hundred are enough for any sender. */
const ROUTES_MAX = 100;
const WEIGHT_MAX = 10_000;
const UID_LENGTH_MAX = 64;

export const sendingRoutes = z
  .array(
    z.strictObject({
      uid: singleLine(UID_LENGTH_MAX),
      /** Weights 3 and 1 get three batches of four, and one. */
      weight: z
        .int()
        .min(1)
        .max(WEIGHT_MAX)
        .nullish()
        .transform((weight) => weight ?? 1),
    }),
  )
  .max(ROUTES_MAX)
  .refine((routes) => new Set(routes.map(({ uid }) => uid)).size === routes.length, 'must name a server once');

export type SendingRoute = z.output<typeof sendingRoutes>[number];
export type SendingRoutesInput = z.input<typeof sendingRoutes>;

/** The choice to store; an empty one is none. Throws NotFoundError, ForeignResourceError for servers it may not name. */
export async function checkedRoutes(
  db: Queryable,
  customerId: bigint,
  routes: readonly SendingRoute[] | null,
): Promise<readonly SendingRoute[] | null> {
  if (routes === null || routes.length === 0) return null;
  const uids = routes.map(({ uid }) => uid);
  await requireAll(db, uids, await nameableServers(db, customerId, uids));
  return routes;
}

/** The same for a plan, which may name servers of the system. */
export async function checkedSystemRoutes(
  db: Queryable,
  routes: readonly SendingRoute[] | null,
): Promise<readonly SendingRoute[] | null> {
  if (routes === null || routes.length === 0) return null;
  const uids = routes.map(({ uid }) => uid);
  await requireAll(db, uids, await systemServersAmong(db, uids));
  return routes;
}

/** A stored choice. */
export function parseRoutes(stored: unknown): readonly SendingRoute[] {
  const parsed = sendingRoutes.safeParse(stored ?? []);
  return parsed.success ? parsed.data : [];
}

async function requireAll(db: Queryable, uids: readonly string[], allowed: ReadonlySet<string>): Promise<void> {
  const unknown = uids.find((uid) => !allowed.has(uid));
  if (unknown === undefined) return;
  throw isUid(unknown) && (await serverExists(db, unknown)) ? foreignServer() : serverNotFound();
}
