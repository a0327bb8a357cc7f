/**
 * Whoever takes messages, marks them or renews their leases reads these, when the statistics are of a time in which each customer had one
 * message. Counted by what the database says it read.
 */
import { beforeAll, expect, test } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql, type Sql, type Transaction } from '../../../src/db/database.ts';
import { actsOnMails } from '../../../src/domain/automations/work/flow-mail-read-model.ts';
import { countHeldMails } from '../../../src/domain/delivery/flow-mails/resumed-mail-store.ts';
import { renewMessages } from '../../../src/domain/delivery/messages/message-lease-store.ts';
import { settleMessages, takeMessages } from '../../../src/domain/delivery/messages/message-queue-store.ts';
import { messagesOfCauses } from '../../../src/domain/delivery/transactional/recipients-read-model.ts';
import { PRIORITIES } from '../../../src/domain/messages/message.ts';
import { messageIdsOf } from '../../../src/domain/messages/message-store.ts';
import { SOURCE_KINDS } from '../../../src/domain/source-key.ts';
import { subscriberPeople } from '../../support/flow-people.ts';
import { readCounter } from '../../support/read-counter.ts';
import { createTenant, newList } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const CUSTOMERS = 30;
const MESSAGES = 20_000;
const TAKEN = 100;
const holder = { owner: crypto.randomUUID(), leaseSeconds: 60 };
const AUTOMATION = 5n;

const base = await createTestContext();
const { db, database } = base;
let customerId = 0n;

/** Mails of a flow, to so many people of a new customer. They are due one after the other, as those of many batches are. */
async function enqueue(count: number) {
  const list = await newList(await createTenant(base));
  const ids = await subscriberPeople(db, list, count);
  customerId = list.customerId;
  await db.execute(
    sql`WITH given AS (
          SELECT id, no FROM unnest(${ids}::bigint[]) WITH ORDINALITY AS p (id, no)
        ), message AS (
          INSERT INTO hot.message (customer_id, id, source_kind, source_id, recipient_id, list_id, priority, kind, purpose, status, cause, content, snapshot_on)
          SELECT ${customerId}, id, ${SOURCE_KINDS.automation}, ${AUTOMATION}, id, ${list.id}, ${PRIORITIES.flow}, 'optional', 'flow', 'subscribed', 'mail ' || no, '{}', current_date
            FROM given
        ), ledger AS (
          INSERT INTO hot.delivery (snapshot_on, customer_id, source_kind, source_id, recipient_id, occurrence, list_id, email)
          SELECT current_date, ${customerId}, ${SOURCE_KINDS.automation}, ${AUTOMATION}, id, id, ${list.id}, '' FROM given
        )
        INSERT INTO hot.message_queue (message_id, customer_id, priority, not_before)
        SELECT id, ${customerId}, ${PRIORITIES.flow}, now() - make_interval(secs => ${count}::int - no) FROM given`,
  );
}

beforeAll(async () => {
  for (const table of [sql`message`, sql`message_queue`])
    await db.execute(sql`ALTER TABLE hot.${table} SET (autovacuum_enabled = off)`);
  await db.execute(sql`ALTER TABLE subscriber SET (autovacuum_enabled = off)`);
  for (let no = 0; no < CUSTOMERS; no++) await enqueue(1);
  await db.execute(sql`ANALYZE`);
  await enqueue(MESSAGES);
});

const TABLES = ['message', 'delivery_2', 'subscriber'] as const;
const counted = readCounter(database, TABLES);
const MODES = ['force_custom_plan', 'force_generic_plan'];

const take = (tx: Transaction) =>
  takeMessages(tx, { holder, priorities: [PRIORITIES.flow], busy: [], perCustomer: TAKEN, wanted: TAKEN });

test.each(MODES)('messages are taken and renewed one by one (%s)', async (mode) => {
  await counted(async (tx, read) => {
    await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
    const taken = await take(tx);
    expect(taken.length).toBeGreaterThan(TAKEN - CUSTOMERS);
    expect(await read('delivery_2')).toBeLessThanOrEqual(5 * TAKEN);
    expect(await read('subscriber')).toBeLessThanOrEqual(2 * TAKEN);
    await renewMessages(
      tx,
      holder,
      taken.map(({ id }) => id),
    );
    // Their rows, and those of the queue.
    expect(await read('message')).toBeLessThanOrEqual(20 * TAKEN);
  });
});

/** The pages that the statements of `act` look at. They are explained only: they do nothing, and answer nothing. */
async function pagesOf(tx: Transaction, act: (explaining: Transaction) => Promise<unknown>): Promise<number> {
  let pages = 0;
  const explain = async (statement: Sql) => {
    const [row] = await queryRows<{ 'QUERY PLAN': readonly { Plan: Readonly<Record<string, number>> }[] }>(
      tx,
      sql`EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) ${statement}`,
    );
    const { 'Shared Hit Blocks': hit = 0, 'Shared Read Blocks': missed = 0 } = row?.['QUERY PLAN'][0]?.Plan ?? {};
    pages += hit + missed;
    return [];
  };
  await act({ ...tx, query: (_columns, statement) => explain(statement) });
  return pages;
}

test('messages are marked by their keys: the ledger of the customer is not looked through for each', async () => {
  await database.transaction(async (tx) => {
    const next = (await take(tx)).map(({ id, customerId: whose, epoch, email }) => ({
      ...{ id, customerId: whose, epoch, email: email ?? '', serverId: 1n },
    }));
    expect(await pagesOf(tx, (as) => settleMessages(as, holder, { outcomes: [], next }))).toBeLessThan(60 * TAKEN);
  });
});

test('mails that are held back are found by their keys', async () => {
  const held = { customerId, automationId: AUTOMATION };
  await database.transaction(async (tx) => {
    await tx.execute(
      sql`WITH held AS (
            UPDATE hot.message_queue SET not_before = now() + interval '1 hour'
             WHERE message_id IN (SELECT q.message_id FROM hot.message_queue q WHERE q.customer_id = ${customerId} AND q.owner IS NULL LIMIT ${TAKEN})
            RETURNING message_id)
          UPDATE hot.delivery SET reason = 'flow_stopped' WHERE customer_id = ${customerId} AND occurrence IN (SELECT message_id FROM held)`,
    );
    expect(await countHeldMails(tx, held)).toBe(TAKEN);
    expect(await pagesOf(tx, (as) => countHeldMails(as, held))).toBeLessThan(60 * TAKEN);
  });
});

test.each(MODES)('messages are found by their causes (%s)', async (mode) => {
  const causes = Array.from({ length: TAKEN }, (_, no) => `mail ${no + 1}`);
  await counted(async (tx, read) => {
    await tx.execute(sql`SELECT set_config('plan_cache_mode', ${mode}, true)`);
    expect((await messageIdsOf(tx, customerId, causes)).size).toBe(TAKEN);
    expect(await messagesOfCauses(tx, customerId, causes)).toHaveLength(TAKEN);
    await actsOnMails(tx, { customerId, automationId: AUTOMATION }, { causes, machines: false });
    expect(await read('message')).toBeLessThanOrEqual(3 * TAKEN);
  });
});
