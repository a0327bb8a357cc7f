/** The lists of a customer that was disabled or deleted take nobody and mail nobody (decision record 0050). */
import { expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { personMail } from '../../../src/domain/audience/mails/person-mail.ts';
import { unsubscribeDigest } from '../../../src/domain/audience/mails/unsubscribe-notices.ts';
import { publicList } from '../../../src/domain/audience/public-list-read-model.ts';
import { signUp } from '../../../src/domain/audience/sign-up.ts';
import { unsubscribePerson } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { viewerOf } from '../../../src/domain/context.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();

test.each(['disabled', 'deleting'])('when it is %s', async (status) => {
  const ctx = await createTenant(base);
  const { customerId } = viewerOf(ctx);
  const list = await newList(ctx, { publicSignup: true, sendGoodbyeEmail: true, unsubscribeNotification: true });
  const { id } = await addSubscriber(ctx, { listUid: list.uid, email: 'ann@person.example' });
  const person = { customerId, listId: list.id, id };
  const eventId = async () =>
    (
      await queryRows<{ id: bigint }>(ctx.db, sql`SELECT max(id) AS id FROM consent_event WHERE subscriber_id = ${id}`)
    )[0]?.id ?? 0n;
  const goodbye = async () => personMail(ctx, { ...person, kind: 'goodbye', eventId: await eventId() });
  await signUp(ctx, { listUid: list.uid, email: 'bob@person.example' });
  await unsubscribePerson(ctx, person, 'link');
  expect(await goodbye()).toMatchObject({ email: 'ann@person.example' });
  const setStatus = (to: string) => ctx.db.execute(sql`UPDATE customer SET status = ${to} WHERE id = ${customerId}`);
  await setStatus(status);
  expect(await publicList(ctx, list.uid)).toBeUndefined();
  await expect(signUp(ctx, { listUid: list.uid, email: 'eve@person.example' })).rejects.toMatchObject({
    code: 'LIST_NOT_FOUND',
  });
  expect(await goodbye()).toBe('source_deleted');
  expect(await unsubscribeDigest(ctx, { customerId, id: list.id }, { count: 1, subscriberIds: [id] })).toBeUndefined();
  await setStatus('active');
  expect(await publicList(ctx, list.uid)).toBeDefined();
  expect(await unsubscribeDigest(ctx, { customerId, id: list.id }, { count: 1, subscriberIds: [id] })).toMatchObject({
    people: 'ann@person.example',
  });
});
