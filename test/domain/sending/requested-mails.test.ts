/** Mails to addresses that a customer just names: their limits do not go with the rows that the customer may delete. */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { createCampaign } from '../../../src/domain/campaigns/create-campaign.ts';
import { deleteCampaign } from '../../../src/domain/campaigns/delete-campaign.ts';
import { sendTestCampaign } from '../../../src/domain/campaigns/send-test-campaign.ts';
import { TESTS_PER_HOUR_MAX } from '../../../src/domain/campaigns/test-addresses.ts';
import { deleteFromAddress } from '../../../src/domain/sending/addresses/delete-from-address.ts';
import {
  MAILS_PER_ADDRESS_AND_DAY_MAX,
  MAILS_PER_HOUR_MAX,
} from '../../../src/domain/sending/addresses/from-address.ts';
import { requestFromAddress } from '../../../src/domain/sending/addresses/request-from-address.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const JUST_NOW = { code: 'FROM_ADDRESS_MAILED_JUST_NOW' };
const later = (seconds: number) =>
  root.db.execute(sql`UPDATE hot.rate_window SET ends_at = ends_at - make_interval(secs => ${seconds}::int),
           times = ARRAY(SELECT t - make_interval(secs => ${seconds}::int) FROM unnest(times) t)`);

test('a hundred tests an hour, whatever becomes of their campaigns', async () => {
  const { ctx, campaignUid, listId } = await campaignWorld(root, { recipients: 1, smtpPort: 1 });
  const [list] = await queryRows<{ uid: string }>(ctx.db, sql`SELECT uid FROM mail_list WHERE id = ${listId}`);
  const again = async () => {
    const fields = { fromEmail: 'a@sender.example', fromName: 'A', html: '<p>Hi</p>', plain: 'Hi' };
    return createCampaign(ctx, { listUid: list?.uid ?? '', name: 'N', subject: 'S', ...fields });
  };
  let uid = campaignUid;
  const send = (no: number) =>
    sendTestCampaign(ctx, {
      uid,
      emails: Array.from({ length: 10 }, (_none, index) => `t${no}-${index}@victim.example`),
    });
  for (let no = 0; no < TESTS_PER_HOUR_MAX / 10; no++) {
    await send(no);
    await deleteCampaign(ctx, uid);
    ({ uid } = await again());
  }
  await expect(send(99)).rejects.toMatchObject({ code: 'TOO_MANY_TESTS' });
  const [kept] = await queryRows<{ text: string }>(
    root.db,
    sql`SELECT string_agg(w::text, '') AS text FROM hot.rate_window w`,
  );
  expect(kept?.text).not.toMatch(/victim|7669637469/);
  await later(3_601);
  await send(100);
});

test('an address that is deleted and asked for again gets no second mail', async () => {
  const ctx = await createTenant(root);
  const email = 'victim@person.example';
  const { uid } = await requestFromAddress(ctx, { email });
  await deleteFromAddress(ctx, { uid });
  await expect(requestFromAddress(ctx, { email: 'Victim@Person.example' })).rejects.toMatchObject(JUST_NOW);
  await later(301);
  await requestFromAddress(ctx, { email });
});

test('so many mails an hour of one customer, and a day to one address of all', async () => {
  const ctx = await createTenant(root);
  for (let no = 0; no < MAILS_PER_HOUR_MAX; no++) {
    const { uid } = await requestFromAddress(ctx, { email: `v${no}@person.example` });
    await deleteFromAddress(ctx, { uid });
  }
  await expect(requestFromAddress(ctx, { email: 'one-more@person.example' })).rejects.toMatchObject(JUST_NOW);
  const email = 'popular@person.example';
  for (let no = 0; no < MAILS_PER_ADDRESS_AND_DAY_MAX; no++)
    await requestFromAddress(await createTenant(root), { email });
  await expect(requestFromAddress(await createTenant(root), { email })).rejects.toMatchObject(JUST_NOW);
});
