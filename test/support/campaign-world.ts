/** A tenant with people, a sending server and a campaign, ready to be started: what tests of sending stand on. */
import { setTimeout as sleep } from 'node:timers/promises';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { createCampaign } from '../../src/domain/campaigns/create-campaign.ts';
import type { CreateCampaignInput } from '../../src/domain/campaigns/campaign-fields.ts';
import type { Context } from '../../src/domain/context.ts';
import { countLedger, type LedgerBalance } from '../../src/domain/delivery/ledger/ledger-read-model.ts';
import { newUid } from '../../src/lib/ids.ts';
import { ledgerOfCampaign } from '../../src/domain/delivery/ledger/delivery.ts';
import { createTenant, newList } from './tenant.ts';

export interface CampaignWorld {
  /** The tenant's context. */
  readonly ctx: Context;
  readonly listId: bigint;
  readonly campaignUid: string;
  readonly campaignId: bigint;
}

interface WorldOptions {
  readonly recipients: number;
  readonly smtpPort: number;
  readonly campaign?: Partial<CreateCampaignInput>;
  readonly server?: {
    /** The largest number. */
    connections?: number;
    /** The present one, if not the largest. */
    grownTo?: number;
    window?: number;
    quotaValue?: number;
    quotaBase?: number;
    quotaUnit?: string;
  };
}

/** Less than a test may take: who waits in vain is to read the figures. */
const ANSWER_DEADLINE_MS = 240_000;
const HTML = '<p>Hello {FIRST_NAME}, <a href="https://example.com/offer?for={EMAIL}">an offer</a>.</p>';

/** People are `p<n>@example.org` with FIRST_NAME `Name<n>`. */
export async function campaignWorld(
  base: Context,
  { recipients, smtpPort, campaign = {}, server = {} }: WorldOptions,
): Promise<CampaignWorld> {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  const { customerId } = list;
  await ctx.db.execute(
    sql`INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
        SELECT ${customerId}, ${list.id}, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed', '{}', jsonb_build_object('FIRST_NAME', 'Name' || n)
          FROM generate_series(1, ${recipients}::int) n`,
  );
  const connections = server.connections ?? 4;
  const settings = {
    host: '127.0.0.1',
    port: smtpPort,
    encryption: 'none',
    max_connections: connections,
    window: server.window ?? 4,
  };
  // As after a while of sending: with all connections that it may have.
  await ctx.db.execute(
    sql`WITH made AS (
          INSERT INTO sending_server (customer_id, uid, name, type, settings, connections_max, quota_value, quota_base, quota_unit)
          VALUES (${customerId}, ${newUid()}, 'Test', 'smtp', ${JSON.stringify(settings)}::jsonb, ${connections},
                  ${server.quotaValue ?? null}, ${server.quotaBase ?? null}, ${server.quotaUnit ?? null}) RETURNING id)
        INSERT INTO hot.sending_connections (server_id, connections, hold_ms) SELECT id, ${server.grownTo ?? connections}::int, 2000 FROM made`,
  );
  const input = {
    listUid: list.uid,
    name: 'News',
    subject: 'Hi {FIRST_NAME}',
    fromEmail: 'news@sender.example',
    fromName: 'Sender',
    html: HTML,
    ...campaign,
  };
  const { uid } = await createCampaign(ctx, input);
  const [row] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM campaign WHERE uid = ${uid}`);
  if (!row) throw new Error('The campaign was not made.');
  return { ctx, listId: list.id, campaignUid: uid, campaignId: row.id };
}

export async function statusOf({ ctx, campaignId }: CampaignWorld): Promise<string> {
  const [row] = await queryRows<{ status: string }>(ctx.db, sql`SELECT status FROM campaign WHERE id = ${campaignId}`);
  return row?.status ?? 'gone';
}

/** Waits until the campaign stands there; throws with its figures when it takes too long. */
export async function untilStatus(world: CampaignWorld, status: string): Promise<void> {
  const deadline = performance.now() + ANSWER_DEADLINE_MS;
  while ((await statusOf(world)) !== status) {
    if (performance.now() > deadline) {
      throw new Error(
        `The campaign is ${await statusOf(world)}, not ${status}: ${JSON.stringify(await balanceOf(world))}`,
      );
    }
    await sleep(25);
  }
}

/** The ledger's own count. */
export async function balanceOf({ ctx, campaignId }: CampaignWorld): Promise<LedgerBalance> {
  const [row] = await queryRows<{ customerId: bigint; snapshotOn: string | null }>(
    ctx.db,
    sql`SELECT customer_id AS "customerId", snapshot_on::text AS "snapshotOn" FROM campaign WHERE id = ${campaignId}`,
  );
  return countLedger(
    ctx.db,
    ledgerOfCampaign({
      customerId: row?.customerId ?? 0n,
      campaignId,
      snapshotOn: row?.snapshotOn ?? '1970-01-01',
    }),
  );
}

/** How many messages each address got. */
export function copiesByRecipient(accepted: readonly { to: string }[]): Map<string, number> {
  const copies = new Map<string, number>();
  for (const { to } of accepted) copies.set(to, (copies.get(to) ?? 0) + 1);
  return copies;
}
