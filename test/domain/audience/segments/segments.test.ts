/** Segments as verbs: saved, changed, deleted, counted and paged; whose they are, what they refuse, what they never tell. */
import { describe, expect, test } from 'vitest';
import { queryRows } from '../../../../scripts/support/query-rows.ts';
import { sql } from '../../../../src/db/database.ts';
import { addListField } from '../../../../src/domain/audience/add-list-field.ts';
import { createSegment } from '../../../../src/domain/audience/segments/create-segment.ts';
import { deleteSegment } from '../../../../src/domain/audience/segments/delete-segment.ts';
import { findOwnedSegment } from '../../../../src/domain/audience/segments/find-owned-segment.ts';
import { parseRule } from '../../../../src/domain/audience/segments/parse-rule.ts';
import {
  countPeople,
  peopleByKey,
  peoplePage,
  type RuleOfList,
} from '../../../../src/domain/audience/segments/segment-read-model.ts';
import { updateSegment } from '../../../../src/domain/audience/segments/update-segment.ts';
import type { MailList } from '../../../../src/domain/audience/list-fields.ts';
import { countSubscribers } from '../../../../src/domain/audience/subscriber-page-read-model.ts';
import type { Context } from '../../../../src/domain/context.ts';
import { ForeignResourceError, NotFoundError, ValidationError } from '../../../../src/lib/errors.ts';
import { newUid } from '../../../../src/lib/ids.ts';
import { givePlan } from '../../../support/plans.ts';
import { countStatements } from '../../../support/count-statements.ts';
import { createTenant, newList } from '../../../support/tenant.ts';
import { createTestContext } from '../../../support/test-context.ts';

const base = await createTestContext();

interface TenantList {
  readonly ctx: Context;
  readonly list: MailList;
}

/** A list of `p1@example.org` on; every tenth has the tag `vip`. */
async function tenantList(people = 0): Promise<TenantList> {
  const ctx = await createTenant(base);
  const list = await newList(ctx);
  await ctx.db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${list.customerId}, ${list.id}, 'p' || n || '@example.org', 'p' || n || '@example.org', 'subscribed',
           CASE WHEN n % 10 = 0 THEN '{VIP}'::text[] ELSE '{}' END
      FROM generate_series(1, ${people}::int) n`);
  return { ctx, list };
}

async function newCampaign({ list }: TenantList, status = 'ready', segmentUid?: string): Promise<string> {
  const uid = newUid();
  await base.db.execute(sql`
    INSERT INTO campaign (customer_id, uid, list_id, name, status, segment_id)
    VALUES (${list.customerId}, ${uid}, ${list.id}, ${`Campaign ${status}`}, ${status}, (SELECT id FROM segment WHERE uid = ${segmentUid ?? null}))`);
  return uid;
}

const ofList = ({ list }: TenantList, rule: unknown): RuleOfList => ({
  customerId: list.customerId,
  listId: list.id,
  rule: parseRule(rule),
});
const VIPS = { tags: { hasAny: ['vip'] } };
const fieldsOf = (run: () => unknown): string[] => {
  try {
    run();
  } catch (error) {
    if (error instanceof ValidationError) return Object.keys(error.fields);
    throw error;
  }
  return [];
};

describe('a rule', () => {
  test('says all that is wrong with it, and where', () => {
    const rule = {
      all: [
        { email: { is: 'no address' } },
        { any: [{ field: { tag: 'X', number: { between: { from: 2, to: 1 } } } }, { status: ['gone'] }] },
        { email: { contains: 'a', startsWith: 'b' } },
        { opened: { inLastDays: 7, atLeast: 2 } },
        { clicked: { linkContains: 'x', peopleOnly: true } },
        { createdAt: { on: '2026-02-30' } },
        { did: { inLastDays: 7 } },
        { didNot: { event: 'order_placed', kind: 'tagged' } },
        { did: { event: 'Order placed' } },
        { did: { kind: 'removed' } },
        { didNot: { kind: 'confirmed', tag: 'vip', field: 'AGE' } },
        { did: { event: 'order_placed', atLeast: 0, inLastDays: -1 } },
        { did: { kind: 'tagged', tag: ' ' } },
        {},
        { nothing: true },
        'text',
      ],
    };
    expect(fieldsOf(() => parseRule(rule))).toEqual([
      'rule.all.0.email.is',
      'rule.all.1.any.0.field.number.between',
      'rule.all.1.any.1.status.0',
      'rule.all.2.email',
      'rule.all.3.opened',
      'rule.all.4.clicked',
      'rule.all.5.createdAt.on',
      ...['rule.all.6.did', 'rule.all.7.didNot', 'rule.all.8.did.event', 'rule.all.9.did.kind'],
      ...['rule.all.10.didNot.tag', 'rule.all.10.didNot.field'],
      ...['rule.all.11.did.inLastDays', 'rule.all.11.did.atLeast', 'rule.all.12.did.tag'],
      ...['rule.all.13', 'rule.all.14', 'rule.all.15'],
    ]);
  });

  test('has limits of depth, conditions, values and size', () => {
    const nested = (levels: number): unknown => (levels === 0 ? VIPS : { all: [nested(levels - 1)] });
    expect(fieldsOf(() => parseRule(nested(10)))).toEqual([]);
    expect(fieldsOf(() => parseRule(nested(11)))).toEqual(['rule']);
    const wide = (count: number) => ({
      any: [{ none: Array.from({ length: count - 50 }, () => VIPS) }, { all: Array.from({ length: 50 }, () => VIPS) }],
    });
    expect(fieldsOf(() => parseRule(wide(100)))).toEqual([]);
    expect(fieldsOf(() => parseRule(wide(101)))).toEqual(['rule']);
    expect(fieldsOf(() => parseRule({ source: { in: Array.from({ length: 501 }, String) } }))).toEqual([
      'rule.source.in',
    ]);
    expect(fieldsOf(() => parseRule({ source: { is: 'x'.repeat(1_001) } }))).toEqual(['rule.source.is']);
    const large = { all: Array.from({ length: 100 }, () => ({ source: { is: 'x'.repeat(900) } })) };
    expect(fieldsOf(() => parseRule(large))).toEqual(['rule']);
  });

  test('needs the fields and campaigns of its list', async () => {
    const own = await tenantList();
    const [otherList, stranger] = [await newList(own.ctx), await tenantList()];
    await addListField(own.ctx, own.list.uid, { type: 'number', label: 'Age', tag: 'AGE' });
    const create = (rule: unknown) => createSegment(own.ctx, { listUid: own.list.uid, name: 'S', rule });
    await expect(create({ field: { tag: 'age', number: { gte: 18 } } })).resolves.toHaveProperty('uid');
    await expect(create({ field: { tag: 'AGE', text: { is: '18' } } })).resolves.toHaveProperty('uid');
    await expect(create({ field: { tag: 'AGE', datetime: { isEmpty: true } } })).rejects.toHaveProperty([
      'fields',
      'rule.field.datetime',
    ]);
    await expect(create({ none: [{ field: { tag: 'GONE', text: { is: 'x' } } }] })).rejects.toHaveProperty([
      'fields',
      'rule.none.0.field.tag',
    ]);
    const changed = (field: string) => ({ kind: 'changed', field });
    await expect(create({ did: changed('age') })).resolves.toHaveProperty('uid');
    for (const name of ['did', 'didNot'])
      await expect(create({ any: [VIPS, { [name]: changed('GONE') }] })).rejects.toHaveProperty(
        ['fields', `rule.any.1.${name}.field`],
        ['The list has no such field.'],
      );
    const opened = (uid: string) => ({ opened: { campaigns: { uids: [uid] } } });
    await expect(create(opened(await newCampaign(own)))).resolves.toHaveProperty('uid');
    await expect(create(opened(await newCampaign({ ctx: own.ctx, list: otherList })))).rejects.toBeInstanceOf(
      ValidationError,
    );
    await expect(create(opened(newUid()))).rejects.toBeInstanceOf(NotFoundError);
    await expect(create(opened(await newCampaign(stranger)))).rejects.toBeInstanceOf(ForeignResourceError);
  });

  test('treats what callers write as values, whatever it looks like', async () => {
    const own = await tenantList(20);
    for (const text of [
      "'; DROP TABLE subscriber; --",
      '%',
      '_',
      '\\',
      "' OR '1'='1",
      '$1',
      '${x}',
      '|| pg_sleep(5) ||',
      '.*',
      '(a+)+$',
    ]) {
      for (const rule of [
        { email: { contains: text } },
        { source: { startsWith: text } },
        { tags: { hasAny: [text] } },
        { clicked: { linkContains: text } },
        { did: { kind: 'tagged', tag: text } },
      ]) {
        expect(await countPeople(own.ctx, ofList(own, rule)), text).toMatchObject({ count: 0 });
      }
    }
    expect(await countPeople(own.ctx, ofList(own, { email: { contains: '@' } }))).toMatchObject({ count: 20 });
  });
});

describe('29 February', () => {
  test.each([
    ['2027-02-28', 0, true],
    ['2027-02-27', 0, false],
    ['2027-02-27', 1, true],
    ['2027-03-01', 0, false],
    ['2028-02-28', 0, false],
    ['2028-02-29', 0, true],
    ['2026-03-01', 365, true],
  ])('comes round as of %s within %i days: %s', async (day, days, expected) => {
    const { peopleOf } = await import('../../../../src/domain/audience/segments/rule-read-model.ts');
    const own = await tenantList(1);
    await own.ctx.db.execute(
      sql`UPDATE subscriber SET fields = '{"BORN": "1992-02-29"}' WHERE list_id = ${own.list.id}`,
    );
    const { rule, ...list } = ofList(own, { field: { tag: 'BORN', datetime: { anniversaryWithinDays: days } } });
    const people = await queryRows(
      own.ctx.db,
      sql`SELECT s.id ${peopleOf(rule, { ...list, asOf: new Date(`${day}T12:00:00Z`) })}`,
    );
    expect(people.length === 1).toBe(expected);
  });
});

describe('a segment', () => {
  test('is made, read, changed and deleted by its owner', async () => {
    const own = await tenantList();
    const { uid } = await createSegment(own.ctx, { listUid: own.list.uid, name: '  VIPs ', rule: VIPS });
    expect(await findOwnedSegment(own.ctx, uid)).toMatchObject({ name: 'VIPs', rule: VIPS, listId: own.list.id });
    await updateSegment(own.ctx, uid, { name: 'Others' });
    expect(await findOwnedSegment(own.ctx, uid)).toMatchObject({ name: 'Others', rule: VIPS });
    await updateSegment(own.ctx, uid, { rule: { none: [VIPS] } });
    expect(await findOwnedSegment(own.ctx, uid)).toMatchObject({ name: 'Others', rule: { none: [VIPS] } });
    await deleteSegment(own.ctx, uid);
    await expect(findOwnedSegment(own.ctx, uid)).rejects.toBeInstanceOf(NotFoundError);
  });

  test('of somebody else is foreign, of nobody unknown', async () => {
    const [own, stranger] = [await tenantList(), await tenantList()];
    const { uid } = await createSegment(stranger.ctx, { listUid: stranger.list.uid, name: 'Theirs', rule: VIPS });
    for (const act of [
      () => findOwnedSegment(own.ctx, uid),
      () => updateSegment(own.ctx, uid, { name: 'Mine' }),
      () => deleteSegment(own.ctx, uid),
    ])
      await expect(act()).rejects.toBeInstanceOf(ForeignResourceError);
    await expect(deleteSegment(own.ctx, newUid())).rejects.toBeInstanceOf(NotFoundError);
    await expect(createSegment(own.ctx, { listUid: stranger.list.uid, name: 'X', rule: VIPS })).rejects.toBeInstanceOf(
      ForeignResourceError,
    );
  });

  test('stays while a campaign that is not done uses it', async () => {
    const own = await tenantList();
    const { uid } = await createSegment(own.ctx, { listUid: own.list.uid, name: 'Used', rule: VIPS });
    await newCampaign(own, 'done', uid);
    const busy = await newCampaign(own, 'ready', uid);
    await expect(deleteSegment(own.ctx, uid)).rejects.toMatchObject({
      code: 'SEGMENT_IN_USE',
      message: expect.stringContaining('Campaign ready'),
    });
    await own.ctx.db.execute(sql`UPDATE campaign SET status = 'done' WHERE uid = ${busy}`);
    await deleteSegment(own.ctx, uid);
  });

  test('has room in its list as far as the plan goes, also for a hundred makers at once', async () => {
    const own = await tenantList();
    await givePlan(own.ctx.db, own.list.customerId, { segment_per_list_max: '5' });
    const made = await Promise.allSettled(
      Array.from({ length: 100 }, (_, no) =>
        createSegment(own.ctx, { listUid: own.list.uid, name: `S${no}`, rule: VIPS }),
      ),
    );
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    const [refused] = made.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused).toMatchObject({ code: 'PLAN_LIMIT_REACHED', fields: { name: [expect.stringContaining('5')] } });
    // Another list has space of its own.
    const other = await newList(own.ctx);
    await createSegment(own.ctx, { listUid: other.uid, name: 'S', rule: VIPS });
  });

  test('goes with its list', async () => {
    const own = await tenantList();
    await createSegment(own.ctx, { listUid: own.list.uid, name: 'S', rule: VIPS });
    await own.ctx.db.execute(sql`DELETE FROM mail_list WHERE id = ${own.list.id}`);
    expect(await queryRows(own.ctx.db, sql`SELECT 1 FROM segment WHERE list_id = ${own.list.id}`)).toEqual([]);
  });
});

describe('the people of a rule', () => {
  test('are counted by one statement beside its frame', async () => {
    const own = await tenantList(50);
    const rule = {
      any: [
        VIPS,
        { opened: {} },
        { clicked: { campaigns: { last: 3 } } },
        { received: { atLeast: 2 } },
        { none: [{ confirmedAt: { isEmpty: false } }] },
      ],
    };
    const { result, statements } = await countStatements(() => countPeople(own.ctx, ofList(own, rule)));
    expect(result.count).toBe(50);
    expect(statements.filter((text) => !/^(BEGIN|COMMIT|SELECT set_config)/.test(text))).toHaveLength(1);
  });

  test('are those of one list, of one customer', async () => {
    const [own, stranger] = [await tenantList(30), await tenantList(40)];
    const everybody = { email: { contains: 'example' } };
    expect((await countPeople(own.ctx, ofList(own, everybody))).count).toBe(30);
    // Even if a list's id came into the wrong hands.
    const torn = { ...ofList(own, everybody), listId: stranger.list.id };
    expect((await countPeople(own.ctx, torn)).count).toBe(0);
    expect(await peopleByKey(own.ctx, torn, { limit: 10 })).toEqual([]);
  });

  test('come page by page, forwards and backwards, each once and in order', async () => {
    const own = await tenantList(3_000);
    const rule = ofList(own, VIPS);
    const forward: string[] = [];
    for (let after: bigint | undefined; ;) {
      const page = await peopleByKey(own.ctx, rule, { limit: 37, after });
      forward.push(...page.map(({ email }) => email));
      after = page.at(-1)?.id;
      if (page.length < 37) break;
    }
    expect(forward).toEqual(Array.from({ length: 300 }, (_, no) => `p${(no + 1) * 10}@example.org`));
    const last = await peopleByKey(own.ctx, rule, { limit: 3, backward: true });
    expect(last.map(({ email }) => email)).toEqual(['p3000@example.org', 'p2990@example.org', 'p2980@example.org']);
    const before = await peopleByKey(own.ctx, rule, { limit: 200, backward: true, before: last.at(-1)?.id });
    expect(before.map(({ email }) => email)).toEqual(forward.slice(97, 297).toReversed());
    const numbered = await peoplePage(own.ctx, rule, { offset: 290, limit: 25 });
    expect(numbered.total).toBe(300);
    expect(numbered.nodes.map(({ email }) => email)).toEqual(forward.slice(290));
  });

  test('who opened or clicked are those that the pages of subscribers know', async () => {
    const own = await tenantList(20);
    await own.ctx.db.execute(sql`
      INSERT INTO hot.subscriber_activity (customer_id, list_id, subscriber_id, opened_at, clicked_at)
      SELECT customer_id, list_id, id, CASE WHEN id % 2 = 0 THEN now() END, CASE WHEN id % 3 = 0 THEN now() END
        FROM subscriber WHERE list_id = ${own.list.id}`);
    await own.ctx.db.execute(sql`
      UPDATE hot.list_counter SET openers = (SELECT count(opened_at) FROM hot.subscriber_activity WHERE list_id = ${own.list.id}),
             clickers = (SELECT count(clicked_at) FROM hot.subscriber_activity WHERE list_id = ${own.list.id}) WHERE list_id = ${own.list.id}`);
    const yes = { opened: [{ opened: {} }], clicked: [{ clicked: {} }] };
    for (const opened of [true, false]) {
      for (const clicked of [true, false]) {
        const rule = { all: [{ [opened ? 'all' : 'none']: yes.opened }, { [clicked ? 'all' : 'none']: yes.clicked }] };
        const filter = { customerId: own.list.customerId, list: own.list, opened, clicked };
        expect((await countPeople(own.ctx, ofList(own, rule))).count).toBe(await countSubscribers(own.ctx, filter));
      }
    }
  });

  test('a hundred callers at once are served in turns, or refused, and hold no more than four connections', async () => {
    const own = await tenantList(100);
    const results = await Promise.allSettled(
      Array.from({ length: 100 }, () => countPeople(own.ctx, ofList(own, VIPS))),
    );
    const counts = results.filter(({ status }) => status === 'fulfilled');
    const refusals = results.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []));
    // Two run and twenty wait.
    expect(counts).toHaveLength(22);
    expect(new Set(refusals)).toEqual(new Set(['TOO_MANY_COUNTS']));
    expect((await countPeople(own.ctx, ofList(own, VIPS))).count).toBe(10);
  });
});
