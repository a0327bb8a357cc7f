/**
 * Whoever needs some people of a customer reads these, when the statistics are of a time before the customer had any: by both indexes of people
 * the planner expects one row then. Counted by what the database says it read.
 */
import { beforeAll, expect, test } from 'vitest';
import { sql, type Transaction } from '../../../src/db/database.ts';
import { refusedAmong } from '../../../src/domain/automations/entries/entry-refusal-read-model.ts';
import { addressesOf } from '../../../src/domain/automations/work/flow-mail-read-model.ts';
import { liveFlow } from '../../../src/domain/automations/runs/live-flow.ts';
import { findByKeys } from '../../../src/domain/automations/runs/run-store.ts';
import { knownPeople, newAmong } from '../../../src/domain/automations/triggers/trigger-person-store.ts';
import { updateCopies, lockPairs } from '../../../src/domain/audience/copy-people-store.ts';
import { peopleAmong } from '../../../src/domain/audience/segments/segment-read-model.ts';
import { readValues } from '../../../src/domain/audience/segments/read-values-read-model.ts';
import { parseRule } from '../../../src/domain/audience/segments/parse-rule.ts';
import {
  lockPeople,
  peopleById,
  setFieldOfPeople,
  tagPeople,
  untagPeople,
} from '../../../src/domain/audience/people-store.ts';
import { unsubscribePeople } from '../../../src/domain/audience/subscriber-store.ts';
import { cappedPeople } from '../../../src/domain/delivery/capped-message-read-model.ts';
import { dueInRange } from '../../../src/domain/delivery/ledger/ledger-store.ts';
import { peopleBehind } from '../../../src/domain/delivery/people-read-model.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { startFlowWorld } from '../../support/flow-world.ts';
import { readCounter } from '../../support/read-counter.ts';
import { newList } from '../../support/tenant.ts';

const OTHERS = 1_000;
const PEOPLE = 3_000;
const ASKED = 100;

const others = await startFlowWorld();
const world = await startFlowWorld(undefined, others.ctx);
const { ctx, list } = world;
const { db, database } = ctx;
const { customerId, id: listId } = list;
const flow = await world.publish({
  triggers: [{ type: 'subscribed' }],
  nodes: [{ id: 'stop', type: 'end' }],
  edges: [{ from: 'start', to: 'stop' }],
});
const live = await liveFlow(ctx, flow.key);
const elsewhere = await newList(ctx);
let people: readonly bigint[] = [];

beforeAll(async () => {
  await db.execute(sql`ALTER TABLE subscriber SET (autovacuum_enabled = off)`);
  await db.execute(sql`ALTER TABLE suppression SET (autovacuum_enabled = off)`);
  await subscriberPeople(db, others.list, OTHERS);
  await suppressNamesakes(others.list.customerId);
  await db.execute(sql`ANALYZE subscriber, suppression`);
  people = await subscriberPeople(db, list, PEOPLE);
  await suppressNamesakes(customerId);
  await db.execute(
    sql`INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, list_id, email)
        SELECT ${LEDGER.snapshotOn}::date, customer_id, ${LEDGER.sourceKind}, ${LEDGER.sourceId}, id, list_id, email FROM subscriber WHERE customer_id = ${customerId}`,
  );
});

/** As many addresses as the customer has people, and none of theirs. */
async function suppressNamesakes(whose: bigint) {
  await db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, 'x' || email_key, 'bounce' FROM subscriber WHERE customer_id = ${whose}`,
  );
}

/** Of a campaign, in a month that exists. */
const LEDGER = { snapshotOn: new Date().toISOString().slice(0, 10), sourceKind: SOURCE_KINDS.campaign, sourceId: 1n };

const asked = () => people.slice(-ASKED);
const these = () => ({ customerId, listId, ids: asked() });

/** What it does, and by how often it may read each of the people. */
const READERS: Readonly<Record<string, readonly [times: number, (tx: Transaction) => Promise<unknown>]>> = {
  'a step reads them': [1, async (tx) => expect((await peopleById(tx, these())).size).toBe(ASKED)],
  'they are locked': [1, (tx) => lockPeople(tx, these())],
  'they get a tag': [4, (tx) => tagPeople(tx, these(), 'one')],
  'they lose a tag': [4, (tx) => untagPeople(tx, these(), 'one')],
  'they get a value': [4, (tx) => setFieldOfPeople(tx, these(), { tag: 'CITY', value: 'Wien' })],
  'they are unsubscribed': [
    3,
    async (tx) => {
      const keys = asked().map((id) => ({ customerId, listId, id }));
      expect(await unsubscribePeople(tx, keys, { source: 'flow', ipAddress: null })).toHaveLength(ASKED);
    },
  ],
  'they are looked up on another list': [
    3,
    async (tx) => expect(await lockPairs(tx, these(), elsewhere.id)).toHaveLength(ASKED),
  ],
  'their copies are written': [
    3,
    (tx) => {
      const changed = asked().map((id) => ({ id, status: 'subscribed' as const, fields: { CITY: 'Graz' }, tags: [] }));
      return updateCopies(tx, { customerId, listId, toListId: listId }, changed);
    },
  ],
  'a rule is asked about them': [
    3,
    async (tx) => {
      const rule = parseRule({ none: [{ tags: { hasAny: ['absent'] } }] });
      const question = { ids: asked(), asOf: new Date(), answers: new Map() };
      expect((await peopleAmong(tx, { customerId, listId, rule }, question)).size).toBe(ASKED);
    },
  ],
  'the history shows what a rule has read of them': [
    1,
    async (tx) => {
      const rule = parseRule({ email: { contains: '@' } });
      expect((await readValues(tx, { customerId, listId, rule }, { ids: asked(), max: 1 })).size).toBe(ASKED);
    },
  ],
  'a mail needs their addresses': [1, async (tx) => expect((await addressesOf(tx, these())).size).toBe(ASKED)],
  'a trigger asks who is new': [
    1,
    async (tx) => {
      expect(await newAmong(tx, { customerId, listId, walkFrom: new Date(0) }, asked())).toHaveLength(ASKED);
    },
  ],
  'a trigger plans their dates': [
    1,
    async (tx) => {
      const trigger = { customerId, automationId: 1n, id: 1n, listId };
      expect(await knownPeople(tx, trigger, asked())).toHaveLength(ASKED);
    },
  ],
  'frequency caps are looked at': [
    1,
    (tx) => cappedPeople(tx, { ...these(), caps: { customer: null, list: null }, at: new Date() }),
  ],
  'a campaign reads them': [
    1,
    async (tx) => {
      const leases = asked().map((recipientId) => ({ recipientId, occurrence: 0n, listId, epoch: 1, attempts: 0 }));
      expect(await peopleBehind(tx, customerId, leases)).toHaveLength(ASKED);
    },
  ],
  'a campaign sends to them': [
    1,
    async (tx) => {
      const [fromId = 0n, toId = 0n] = [asked().at(0), asked().at(-1)];
      expect(await dueInRange(tx, { ...LEDGER, customerId, fromId, toId })).toHaveLength(ASKED);
    },
  ],
  'the rules of entry are looked at': [
    1,
    async (tx) => {
      if (!live) throw new Error('The flow is not live.');
      expect(await refusedAmong(tx, live, { ids: asked(), now: new Date() })).toEqual(new Map());
    },
  ],
};

const counted = readCounter(database, ['subscriber', 'suppression']);

test.each(Object.entries(READERS))('%s', async (_what, [times, act]) => {
  for (const mode of ['force_custom_plan', 'force_generic_plan'])
    for (const ofFlow of [true, false])
      await expect(
        counted(async (tx, read) => {
          await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
          if (ofFlow) await findByKeys(tx);
          await act(tx);
          expect(await read('subscriber')).toBeLessThanOrEqual(times * ASKED + 10);
          expect(await read('suppression')).toBe(0);
          throw new Undone();
        }),
      ).rejects.toThrow(Undone);
});

class Undone extends Error {}
