/** What must be true of a campaign at each moment and at its end, whatever has ended the processes that send it (HARD-CASES A1 to A5, H10). */
import { expect } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { copiesByRecipient, type CampaignWorld } from './campaign-world.ts';

/** The ledger's count and the shown counters, read at one instant, must agree and add up. */
export async function expectBalanced(world: CampaignWorld): Promise<void> {
  const [row] = await queryRows<{
    rows: number;
    audience: number;
    open: number;
    shownOpen: number;
    sent: number;
    shownSent: number;
  }>(
    world.ctx.db,
    sql`SELECT c.audience, c.open AS "shownOpen", c.sent AS "shownSent",
               (SELECT count(*)::int FROM hot.delivery d WHERE d.source_id = c.source_id) AS rows,
               (SELECT count(*)::int FROM hot.delivery d WHERE d.source_id = c.source_id AND d.state IN ('queued', 'leased', 'sending')) AS open,
               (SELECT count(*)::int FROM hot.delivery d WHERE d.source_id = c.source_id AND d.state = 'sent') AS sent
          FROM hot.delivery_counter c WHERE c.source_id = ${world.campaignId}`,
  );
  if (!row) return;
  expect({ audience: row.rows, open: row.open, sent: row.sent }).toEqual({
    audience: row.audience,
    open: row.shownOpen,
    sent: row.shownSent,
  });
}

/** Everybody who is not parked has the message; each second copy is one that the ledger counts as in doubt. */
export async function expectExplained(world: CampaignWorld, accepted: readonly { to: string }[]): Promise<void> {
  const copies = copiesByRecipient(accepted);
  const rows = await queryRows<{ email: string; state: string; ambiguous: number }>(
    world.ctx.db,
    sql`SELECT email, state::text AS state, ambiguous_count AS ambiguous FROM hot.delivery WHERE source_id = ${world.campaignId}`,
  );
  for (const { email, state, ambiguous } of rows) {
    const got = copies.get(email) ?? 0;
    expect(got).toBeLessThanOrEqual(1 + ambiguous);
    if (state === 'sent') expect(got).toBeGreaterThanOrEqual(1);
    else expect(ambiguous).toBeGreaterThanOrEqual(1);
  }
}
