/** Previews hold a whole message with its files: a customer has one at a time, and others do not wait for its crowd. */
import { expect, test } from 'vitest';
import { previewCampaign } from '../../../src/domain/campaigns/preview-campaign.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();

test('one is composed, twenty wait, the others are told to come again; another customer is not kept', async () => {
  const [busy, other] = [
    await campaignWorld(root, { recipients: 0, smtpPort: 1 }),
    await campaignWorld(root, { recipients: 0, smtpPort: 1 }),
  ];
  let open = 0;
  const crowd = Array.from({ length: 30 }, () => {
    open += 1;
    return previewCampaign(busy.ctx, { uid: busy.campaignUid }).finally(() => (open -= 1));
  });
  const settled = Promise.allSettled(crowd);
  expect((await previewCampaign(other.ctx, { uid: other.campaignUid })).subject).not.toBe('');
  expect(open).toBeGreaterThan(10);
  const outcomes = await settled;
  const refused = outcomes.filter(({ status }) => status === 'rejected');
  expect(refused).toHaveLength(9);
  expect(refused[0]).toMatchObject({ reason: { code: 'TOO_MANY_PREVIEWS' } });
});
