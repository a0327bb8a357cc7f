/** Flows that send mails: a world of flows with a sending server, templates, and the sender of messages as workers have it. */
import path from 'node:path';
import { vi } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import { loadPlugins } from '../../src/plugin-host/load-plugins.ts';
import { subscriberPeople } from './flow-people.ts';
import { startFlowWorld } from './flow-world.ts';
import { createTestContext } from './test-context.ts';
import { messageRows } from './message-world.ts';

interface ServerOptions {
  readonly smtpPort: number;
  /** Messages in `seconds`. */
  readonly pace?: { readonly messages: number; readonly seconds: number };
  readonly beginsAt?: string;
}

export async function startFlowMailWorld({ smtpPort, pace, beginsAt }: ServerOptions) {
  const base = await createTestContext();
  await loadPlugins(path.resolve('plugins'), base.hooks);
  const world = await startFlowWorld(beginsAt, base);
  const { ctx, list } = world;
  const settings = { host: '127.0.0.1', port: smtpPort, encryption: 'none', max_connections: 4, window: 4 };
  await ctx.db.execute(
    sql`WITH made AS (
          INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max, quota_value, quota_base, quota_unit)
          VALUES (${list.customerId}, ${newUid()}, 'Test', 'smtp', ${JSON.stringify(settings)}::jsonb, 4,
                  ${pace?.messages ?? null}, ${pace?.seconds ?? null}, ${pace ? 'second' : null}) RETURNING id)
        INSERT INTO hot.sending_connections (server_id, connections, hold_ms) SELECT id, 4, 2000 FROM made`,
  );
  return {
    ...world,
    /** Makes a template and returns its uid. */
    async template(texts: { subject: string; html: string; kind?: string }): Promise<string> {
      const uid = newUid();
      const { subject, html, kind = 'marketing' } = texts;
      await ctx.db.execute(
        sql`INSERT INTO template (customer_id, uid, name, kind, subject, html) VALUES (${list.customerId}, ${uid}, 'Template', ${kind}, ${subject}, ${html})`,
      );
      return uid;
    },
    people: (count: number) => subscriberPeople(ctx.db, list, count),
    suppress: (personId: bigint, reason = 'bounce') =>
      ctx.db.execute(
        sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, ${reason} FROM subscriber WHERE id = ${personId}`,
      ),
    /** Messages of flows, when none waits any more. */
    mailsSettled: () =>
      vi.waitFor(
        async () => {
          const rows = await messageRows(ctx, 'flow %');
          if (rows.some(({ waits }) => waits))
            throw new Error(`They wait: ${JSON.stringify(rows.slice(0, 3), asText)}`);
          return rows;
        },
        { timeout: 120_000, interval: 100 },
      ),
    counted: async () => {
      const [row] = await queryRows<{ audience: number; sent: number; unknown: number }>(
        ctx.db,
        sql`SELECT sum(audience)::int AS audience, sum(sent)::int AS sent, sum(unknown)::int AS unknown FROM hot.delivery_counter WHERE customer_id = ${list.customerId}`,
      );
      return row;
    },
  };
}

const asText = (_name: string, value: unknown) => (typeof value === 'bigint' ? String(value) : value);
