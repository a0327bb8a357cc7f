/** What happens through the API, by the clock or by an operator is in the event record: all of it, in its order, and nothing else. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { writeCustomerStatus } from '../../src/domain/accounts/customer-store.ts';
import { moveCampaigns, type Transition } from '../../src/domain/campaigns/campaign-state-store.ts';
import { pauseCustomerCampaigns } from '../../src/domain/campaigns/pause-customer-campaigns.ts';
import { removeCustomer } from '../../src/domain/campaigns/remove-customer.ts';
import { pauseOverdueCampaigns } from '../../src/domain/installation/pause-overdue.ts';
import { newUid } from '../../src/lib/ids.ts';
import { eventsAbout } from '../support/event-followers.ts';
import { drawn, fc } from '../support/property.ts';
import { startRestApp, type RestTenant } from '../support/rest-app.ts';

const app = await startRestApp();
const { db } = app.ctx;
const contact = {
  ...{ company: 'Acme', address_1: '1 High Street', city: 'Springfield', state: 'CA', zip: '12345', phone: '1' },
  ...{ country_id: 1, email: 'office@acme.example' },
};
const sender = { from_email: 'news@acme.example', from_name: 'Acme' };

type Ask = (path: string, method?: string, body?: unknown) => Promise<{ status: number; body: unknown }>;
const asking =
  ({ token }: RestTenant): Ask =>
  (path, method = 'GET', body) =>
    app.rest(path, { method, body, token });

async function newList(ask: Ask): Promise<string> {
  const { body } = await ask('/lists', 'POST', { name: 'Friends', default_subject: 'News', ...sender, contact });
  return (body as { list_uid: string }).list_uid;
}

/** A customer whose campaigns can be started: a list with one person, a sending server. */
async function sendingTenant(): Promise<{ tenant: RestTenant; ask: Ask; listUid: string }> {
  const tenant = await app.newTenant();
  const ask = asking(tenant);
  const listUid = await newList(ask);
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT customer_id, id, 'ann@example.org', 'ann@example.org', 'subscribed', '{}', '{}' FROM mail_list WHERE uid = ${listUid}`);
  await db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings)
    VALUES (${tenant.customerId}, ${newUid()}, 'Server', 'smtp', '{"host": "127.0.0.1", "port": 1, "encryption": "none"}')`);
  return { tenant, ask, listUid };
}

/** What a follower reads about an object: the kind, and the states between which it moved. */
async function recordOf(...uids: string[]): Promise<string[]> {
  const events = await eventsAbout(db, ...uids);
  return events.map(({ kind, data }) => ('from' in data ? `${kind} ${data.from} ${data.to}` : kind));
}

const ACTS = [
  ...['create', 'create', 'create', 'run', 'run', 'run', 'pause', 'pause', 'resume', 'resume', 'schedule', 'schedule'],
  ...['spoil', 'begin', 'begin', 'finish', 'disable', 'overdue', 'overdue', 'delete', 'deleteList'],
] as const;

/** Campaigns of one customer on which acts are played; `seen` are the states that its API shows after each act. */
async function campaignPlay() {
  const { tenant, ask, listUid: firstList } = await sendingTenant();
  const ofTenant = sql`customer_id = ${tenant.customerId}`;
  const seen = new Map<string, string[]>();
  let listUid = firstList;
  const all = (transition: Transition) => moveCampaigns(db, ofTenant, transition);

  const acts: Readonly<Record<(typeof ACTS)[number], (uid: string) => Promise<unknown>>> = {
    async create() {
      const campaign = { list_uid: listUid, name: 'News', subject: 'Hi', ...sender, html: '<p>Hi</p>' };
      const { body } = await ask('/campaigns', 'POST', campaign);
      seen.set((body as { campaign_uid: string }).campaign_uid, []);
    },
    run: (uid) => ask(`/campaigns/${uid}/run`, 'POST'),
    pause: (uid) => ask(`/campaigns/${uid}/pause`, 'POST'),
    resume: (uid) => ask(`/campaigns/${uid}/resume`, 'POST'),
    schedule: (uid) =>
      ask(`/campaigns/${uid}/run`, 'POST', { delivery_at: new Date(Date.now() + 86_400_000).toISOString() }),
    delete: (uid) => ask(`/campaigns/${uid}`, 'DELETE'),
    spoil: (uid) => ask(`/campaigns/${uid}`, 'PATCH', { subject: '' }),
    // The worker's steps, of all of the customer's campaigns in one statement.
    begin: () => all({ from: ['queued'], to: 'sending' }),
    finish: () => all({ from: ['sending'], to: 'done' }),
    async disable() {
      await writeCustomerStatus(db, tenant.customerId, 'disabled');
      await pauseCustomerCampaigns(app.ctx, tenant);
      await writeCustomerStatus(db, tenant.customerId, 'active');
    },
    async overdue() {
      await db.execute(sql`UPDATE campaign SET delivery_at = '2020-01-01' WHERE ${ofTenant} AND status = 'scheduled'`);
      await pauseOverdueCampaigns(app.ctx);
    },
    async deleteList() {
      const { status } = await ask(`/lists/${listUid}`, 'DELETE');
      if (status === 200) listUid = await newList(ask);
    },
  };
  return {
    seen,
    async play(act: (typeof ACTS)[number], which: number) {
      const living = [...seen].filter(([, states]) => states.at(-1) !== 'gone').map(([uid]) => uid);
      await acts[act](living[which % Math.max(1, living.length)] ?? '0000000000000');
      const rows = await queryRows<{ uid: string; status: string }>(
        db,
        sql`SELECT uid, status FROM campaign WHERE ${ofTenant}`,
      );
      const now = new Map(rows.map(({ uid, status }) => [uid, status]));
      for (const [uid, states] of seen) {
        const state = now.get(uid) ?? 'gone';
        if (states.at(-1) !== state) states.push(state);
      }
    },
  };
}

test('campaigns: the record tells every state that was seen, without a gap, whoever changed it', async () => {
  const steps = fc.array(fc.tuple(fc.constantFrom(...ACTS), fc.nat(20)), { minLength: 50, maxLength: 60 });
  const played = new Set<string>();
  await fc.assert(
    fc.asyncProperty(steps, async (acts) => {
      const { seen, play } = await campaignPlay();
      for (const [act, which] of acts) await play(act, which);
      for (const [uid, states] of seen) {
        const [created, ...later] = await eventsAbout(db, uid);
        expect(created?.kind).toBe('campaign_created');
        const told = ['new'];
        for (const { kind, data } of later) {
          if (kind === 'campaign_deleted') told.push('gone');
          else {
            const { from, to } = data as { from: string; to: string };
            expect(from).toBe(told.at(-1));
            told.push(to);
            played.add(`${from} ${to}`);
          }
        }
        // A new campaign becomes ready in the transaction that makes it.
        expect(told.slice(told[1] === states[0] ? 1 : 0)).toEqual(states);
      }
    }),
    { numRuns: drawn(6) },
  );
  // Otherwise the play has become too easy.
  expect([...played]).toEqual(
    expect.arrayContaining([
      ...[
        'new ready',
        'ready new',
        'ready queued',
        'ready scheduled',
        'scheduled paused',
        'queued paused',
        'queued sending',
      ],
      ...['sending paused', 'sending done', 'paused queued', 'paused scheduled'],
    ]),
  );
});

test('the reason of a new state is told', async () => {
  const { seen, play } = await campaignPlay();
  await play('create', 0);
  await play('run', 0);
  await play('disable', 0);
  const [uid = ''] = seen.keys();
  expect((await eventsAbout(db, uid)).at(-1)?.data).toEqual({
    from: 'queued',
    to: 'paused',
    reason: 'account_disabled',
  });
});

describe('others', () => {
  test('lists', async () => {
    const ask = asking(await app.newTenant());
    const uid = await newList(ask);
    await ask(`/lists/${uid}`, 'PATCH', { name: 'Best friends' });
    // Not a person's change.
    await db.execute(sql`UPDATE mail_list SET unsubscribes_notified_at = now() WHERE uid = ${uid}`);
    await ask(`/lists/${uid}`, 'DELETE');
    expect(await recordOf(uid)).toEqual(['list_created', 'list_changed', 'list_deleted']);
  });

  test('plans, also one that is only hidden because it is in use', async () => {
    const plan = { name: 'Small', price: '0', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' };
    const uids: string[] = [];
    for (let no = 0; no < 2; no++) {
      const { body } = await app.rest('/plans', { method: 'POST', body: plan });
      uids.push((body as { plan_uid: string }).plan_uid);
    }
    const [free = '', used = ''] = uids;
    await app.rest(`/plans/${free}`, { method: 'PATCH', body: { name: 'Smaller' } });
    await app.rest(`/plans/${free}`, { method: 'PATCH', body: { status: 'inactive' } });
    await app.rest(`/plans/${free}`, { method: 'DELETE' });
    expect(await recordOf(free)).toEqual([
      ...['plan_created', 'plan_changed', 'plan_status_changed active inactive', 'plan_deleted'],
    ]);
    const { customerId } = await app.newTenant();
    await db.execute(sql`
      INSERT INTO subscription (customer_id, uid, plan_id, status, updated_at)
      SELECT ${customerId}, ${newUid()}, id, 'ended', now() FROM plan WHERE uid = ${used}`);
    await app.rest(`/plans/${used}`, { method: 'DELETE' });
    expect(await recordOf(used)).toEqual(['plan_created', 'plan_deleted']);
  });

  test('customers, until they are erased: what is left of one is no personal data', async () => {
    const { body } = await app.rest('/customers', {
      method: 'POST',
      body: {
        ...{
          email: `${newUid()}@new.example`,
          first_name: 'Ada',
          last_name: 'Lovelace',
          password: 'analytical engine',
        },
        ...{ timezone: 'Europe/London', language_id: 1 },
      },
    });
    const { customer_uid: uid } = body as { customer_uid: string };
    await app.rest(`/customers/${uid}/disable`, { method: 'PATCH' });
    await app.rest(`/customers/${uid}/disable`, { method: 'PATCH' });
    await app.rest(`/customers/${uid}/enable`, { method: 'PATCH' });
    const [customer] = await queryRows<{ id: bigint }>(db, sql`SELECT id FROM customer WHERE uid = ${uid}`);
    await app.rest(`/customers/${uid}`, { method: 'DELETE' });
    await removeCustomer(app.ctx, { customerId: customer?.id ?? 0n, abortSignal: new AbortController().signal });
    expect(await recordOf(uid)).toEqual([
      'customer_added',
      'customer_status_changed active disabled',
      'customer_status_changed disabled active',
      'customer_deleted',
    ]);
    const rows = await queryRows<{ text: string }>(db, sql`SELECT e::text AS text FROM hot.event e`);
    expect(rows.filter(({ text }) => /zyta|quoril|@/i.test(text))).toEqual([]);
  });
});
