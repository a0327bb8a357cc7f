/** What campaigns that a process is sending share, and what not. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();

test('jobs that a plan makes wait stand in one line for each customer, not for each campaign', async () => {
  const [first, other] = [
    await campaignWorld(root, { recipients: 1, smtpPort: 1 }),
    await campaignWorld(root, { recipients: 1, smtpPort: 1 }),
  ];
  const [list] = await queryRows<{ uid: string }>(
    first.ctx.db,
    sql`SELECT uid FROM mail_list WHERE id = ${first.listId}`,
  );
  const texts = { subject: 'S', fromEmail: 'a@sender.example', fromName: 'A', html: '<p>Hi</p>' };
  await createCampaign(first.ctx, { listUid: list?.uid ?? '', name: 'Second', ...texts });
  const keys = await queryRows<{ customerId: bigint; campaignId: bigint }>(
    root.db,
    sql`UPDATE campaign SET status = 'sending', snapshot_on = current_date
         RETURNING customer_id AS "customerId", id AS "campaignId"`,
  );
  const active = createActiveCampaigns();
  const taken = await Promise.all(
    keys.map(async (key) => ({ key, campaign: (await active.take(root, key))?.campaign })),
  );
  const linesOf = ({ ctx }: typeof first) =>
    taken.filter(({ key }) => key.customerId === ctx.viewer?.customerId).map(({ campaign }) => campaign?.line);
  const [one, two] = linesOf(first);
  expect(one).toBeDefined();
  expect(two).toBe(one);
  expect(linesOf(other)).toHaveLength(1);
  expect(linesOf(other)[0]).not.toBe(one);
});
