/** Every way a status changes is in the history, and the history of everybody ends with the status they have. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { addSubscriber } from '../../../src/domain/audience/add-subscriber.ts';
import { confirmSubscription } from '../../../src/domain/audience/confirm-subscription.ts';
import { consentHistories } from '../../../src/domain/audience/consent-read-model.ts';
import { expirePending } from '../../../src/domain/audience/expire-pending.ts';
import { subscribersByAddress } from '../../../src/domain/audience/find-subscriber.ts';
import { signUp } from '../../../src/domain/audience/sign-up.ts';
import { subscribeSubscriber } from '../../../src/domain/audience/subscribe-subscriber.ts';
import { unsubscribeSubscriber } from '../../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateSubscriber } from '../../../src/domain/audience/update-subscriber.ts';
import { importFile } from '../../support/import-file.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const base = await createTestContext();
const ctx = await createTenant(base);

async function historyOf(email: string): Promise<string[]> {
  const [person] = await subscribersByAddress(ctx, email);
  if (!person) return [];
  const [events = []] = await consentHistories(ctx.db, person.customerId, [person]);
  expect(events.at(-1)?.status, email).toBe(person.status);
  return events.map(({ status, source }) => `${status} by ${source.split(':')[0]}`);
}

test('an import, whatever it says, and what follows', async () => {
  const list = await newList(ctx);
  const lines = [
    'email,status',
    'plain@x.example,',
    'yes@x.example,subscribed',
    'no@x.example,unsubscribed',
    'maybe@x.example,unconfirmed',
  ];
  await importFile(ctx, list, `${lines.join('\n')}\n`);
  expect(await historyOf('plain@x.example')).toEqual(['subscribed by import']);
  expect(await historyOf('yes@x.example')).toEqual(['subscribed by import']);
  expect(await historyOf('no@x.example')).toEqual(['unsubscribed by import']);
  expect(await historyOf('maybe@x.example')).toEqual(['unconfirmed by import']);
  await unsubscribeSubscriber(ctx, { subscriber: 'plain@x.example' });
  expect(await historyOf('plain@x.example')).toEqual(['subscribed by import', 'unsubscribed by api']);
  await importFile(ctx, list, 'email,status\nyes@x.example,unsubscribed\nplain@x.example,subscribed\n');
  expect(await historyOf('yes@x.example')).toEqual(['subscribed by import', 'unsubscribed by import']);
  expect(await historyOf('plain@x.example')).toEqual(['subscribed by import', 'unsubscribed by api']);
});

test('the API, a form, the click, by hand, and time', async () => {
  const list = await newList(ctx, { subscribeConfirmation: true, publicSignup: true });
  const who = { subscriber: 'ann@y.example', listUid: list.uid };
  const ann = await addSubscriber(ctx, { listUid: list.uid, email: who.subscriber });
  const key = { customerId: ann.customerId, listId: ann.listId, id: ann.id };
  await confirmSubscription(base, { ...key, expiresAt: ann.pendingUntil ?? new Date() });
  await updateSubscriber(ctx, { ...who, status: 'unsubscribed' });
  await subscribeSubscriber(ctx, who);
  await ctx.db.execute(sql`UPDATE subscriber SET pending_until = now() - interval '1 second' WHERE id = ${ann.id}`);
  await expirePending(base);
  await updateSubscriber(ctx, { ...who, status: 'unconfirmed' });
  await signUp({ ...base, ipAddress: '203.0.113.5' }, { listUid: list.uid, email: who.subscriber });
  expect(await historyOf(who.subscriber)).toEqual([
    ...['pending by api', 'subscribed by confirmation', 'unsubscribed by api', 'pending by api'],
    // Nobody answered: what the person said last holds.
    'unsubscribed by expiry',
    ...['unconfirmed by api', 'pending by form'],
  ]);
});

test('a history of a hundred changes shows the newest', async () => {
  const list = await newList(ctx);
  await importFile(ctx, list, 'email\nold@z.example\n');
  const [person] = await subscribersByAddress(ctx, 'old@z.example');
  await ctx.db.execute(sql`
    INSERT INTO consent_event (customer_id, list_id, subscriber_id, status, source)
    SELECT ${person?.customerId}, ${person?.listId}, ${person?.id}, CASE WHEN n = 150 THEN 'subscribed' ELSE 'unsubscribed' END, 'api'
      FROM generate_series(1, 150) n`);
  expect((await historyOf('old@z.example')).length).toBeLessThanOrEqual(101);
});
