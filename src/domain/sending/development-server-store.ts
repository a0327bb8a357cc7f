/** The sending server for the built-in inbox: a system server, made by the program, used only while there is no real one. */
import { sql } from '../../db/database.ts';
import { newUid } from '../../lib/ids.ts';
import type { Context } from '../context.ts';

const NAME = 'Built-in inbox (development receiver)';

/** Whether anybody has a real sending server. */
export async function hasRealSendingServer(ctx: Context): Promise<boolean> {
  return (
    (await ctx.db.execute(sql`SELECT 1 FROM sending_server WHERE status = 'active' AND NOT is_development LIMIT 1`)) > 0
  );
}

/** Makes the server, or moves it to this port. It belongs to the operator's account, the first customer. */
export async function useDevelopmentServer(ctx: Context, port: number): Promise<void> {
  const settings = JSON.stringify({ host: '127.0.0.1', port, encryption: 'none' });
  const moved = await ctx.db.execute(
    sql`UPDATE sending_server SET settings = ${settings}::jsonb, status = 'active', updated_at = now() WHERE is_development`,
  );
  if (moved > 0) return;
  await ctx.db.execute(
    sql`INSERT INTO sending_server (customer_id, uid, name, type, settings, is_system, is_development)
        SELECT min(id), ${newUid()}, ${NAME}, 'smtp', ${settings}::jsonb, true, true FROM customer`,
  );
}

/** The port of the server, if there is one. */
export async function developmentServerPort(ctx: Context): Promise<number | null> {
  const [row] = await ctx.db.query(
    { port: 'int' },
    sql`SELECT (settings ->> 'port')::int AS port FROM sending_server WHERE is_development AND status = 'active' LIMIT 1`,
  );
  return row?.port ?? null;
}

/** Deactivates it: nothing listens there any more. */
export async function retireDevelopmentServer(ctx: Context): Promise<void> {
  await ctx.db.execute(
    sql`UPDATE sending_server SET status = 'inactive', updated_at = now() WHERE is_development AND status = 'active'`,
  );
}
