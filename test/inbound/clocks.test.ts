/** Links that end are judged by the database's clock: machines of one installation whose own clocks differ agree about them. */
import { expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { addressLink, LINK_DAYS } from '../../src/domain/sending/addresses/from-address.ts';
import { addressMail } from '../../src/domain/sending/addresses/address-mail.ts';
import { keepAddress } from '../../src/domain/sending/addresses/from-address-store.ts';
import { readAddressLink } from '../../src/domain/sending/addresses/confirm-from-address.ts';
import { newUid } from '../../src/lib/ids.ts';
import { recipientOfCampaign } from '../../src/domain/tracking/tracking.ts';
import { startInboundServer } from './inbound-server.ts';

const DAY_MS = 86_400_000;
const YEAR_MS = 365 * DAY_MS;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

test.each([
  ['a year ahead', YEAR_MS],
  ['a year behind', -YEAR_MS],
])('of a machine whose clock is %s', async (_name, skewMs) => {
  const clock = { now: () => new Date(Date.now() + skewMs) };
  const { ctx, seeded, signer, here } = await startInboundServer({ clock });
  const { customerId, listId, campaignId, subscriberIds } = seeded;
  const person = { customerId, listId, campaignId, subscriberId: subscriberIds[0] ?? 0n };
  await ctx.db.execute(
    sql`UPDATE subscriber SET status = 'unconfirmed', pending_until = now() + interval '1 day' WHERE id = ${person.subscriberId}`,
  );
  const statusOf = async (days: number) =>
    (await fetch(here(signer.confirmation(recipientOfCampaign(person), inDays(days))))).status;
  expect([await statusOf(1), await statusOf(-1)]).toEqual([200, 410]);

  const { id } = await keepAddress(ctx.db, { customerId, uid: newUid(), email: 'ann@sender.example' });
  const stateOf = async (expiresAt: Date) => {
    const token = addressLink(ctx.installation, { customerId, id, expiresAt }).split('/').at(-1) ?? '';
    return (await readAddressLink(ctx, token)).kind;
  };
  expect([await stateOf(inDays(1)), await stateOf(inDays(-1))]).toEqual(['open', 'expired']);
  const mail = await addressMail(ctx, { customerId, addressId: id });
  const ends = await readAddressLink(ctx, mail?.paragraphs[1]?.split('/').at(-1) ?? '');
  expect(ends.kind).toBe('open');
  expect(mail?.paragraphs[2]).toContain(`${LINK_DAYS} days`);
});
