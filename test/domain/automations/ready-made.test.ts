/** The ready-made flows: each is made, published and activated on a list that has what it needs, and its mails go out. */
import { afterAll, describe, expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { addListField } from '../../../src/domain/audience/add-list-field.ts';
import { checkAutomation } from '../../../src/domain/automations/flow/check-automation.ts';
import { publishAutomation } from '../../../src/domain/automations/versions/publish-automation.ts';
import { makeReadyMade } from '../../../src/domain/automations/ready-made/make-ready-made.ts';
import { READY_MADE_FLOWS } from '../../../src/domain/automations/ready-made/ready-made-flows.ts';
import { setAutomationStatus } from '../../../src/domain/automations/stopping/set-automation-status.ts';
import { recordPersonEvents } from '../../../src/events/person-event-store.ts';
import { startFlowMailWorld } from '../../support/flow-mail-world.ts';
import { runSender } from '../../support/message-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';

const smtp = await scriptedSmtpServer({ extensions: ['PIPELINING'] });
const world = await startFlowMailWorld({ smtpPort: smtp.port, beginsAt: new Date().toISOString() });
const { ctx, list } = world;
afterAll(() => smtp[Symbol.asyncDispose]());

const HOUR_MS = 3_600_000;
const NAMES = [
  ...['welcome_series', 'abandoned_cart', 'looked_and_left', 'after_purchase', 'win_back', 're_permission'],
  ...['birthday', 'anniversary', 'lead_nurture', 'trial_onboarding', 'renewal', 'digest'],
];

const needs = READY_MADE_FLOWS.flatMap((one) => one.needs);

test('they are the twelve that people expect, and say what they need', () => {
  expect(READY_MADE_FLOWS.map(({ name }) => name)).toEqual(NAMES);
  for (const { title, description, document } of READY_MADE_FLOWS) {
    expect([title, description].every((text) => text.length > 3)).toBe(true);
    expect(Object.keys(document.references.templates ?? {}).length).toBeGreaterThan(0);
  }
  for (const { description, name } of needs) expect(description.length, name).toBeGreaterThan(5);
});

test('one whose field the list does not have says which one, and makes nothing', async () => {
  const made = makeReadyMade(ctx, { readyMade: 'birthday', listUid: list.uid });
  await expect(made).rejects.toMatchObject({
    fields: {
      mapping: [
        'The flow uses the field “BIRTHDAY” (“Birthday”). There is no such field here: name yours in mapping.fields.',
      ],
    },
  });
  expect(await queryRows(ctx.db, sql`SELECT 1 FROM template WHERE customer_id = ${list.customerId}`)).toEqual([]);
  await expect(makeReadyMade(ctx, { readyMade: 'christmas', listUid: list.uid })).rejects.toMatchObject({
    ...{
      code: 'READY_MADE_FLOW_NOT_FOUND',
      message: expect.stringContaining('There are: welcome_series, abandoned_cart'),
    },
  });
});

describe('on a list with these fields', () => {
  test.each(READY_MADE_FLOWS)('$name is made, published and activated', async ({ name, needs: own, document }) => {
    for (const need of own) {
      if (need.kind !== 'field') continue;
      const type = need.type === 'date' ? 'date' : 'textarea';
      await addListField(ctx, list.uid, { type, label: need.name, tag: need.name });
    }
    const { uid } = await makeReadyMade(ctx, { readyMade: name, listUid: list.uid });
    const { faults, warnings } = await checkAutomation(ctx, uid);
    expect({ faults, warnings }).toEqual({ faults: [], warnings: [] });
    expect(await publishAutomation(ctx, uid, 1)).toEqual({ number: 1, warnings: [] });
    await setAutomationStatus(ctx, uid, 'active');
    const rows = await queryRows<{ name: string; status: string }>(
      ctx.db,
      sql`SELECT name, status FROM automation WHERE uid = ${uid}`,
    );
    expect(rows).toEqual([{ name: document.name, status: 'active' }]);
    await setAutomationStatus(ctx, uid, 'inactive');
  });

  test('another tag and another event are taken by the mapping, in the mails, too', async () => {
    await addListField(ctx, list.uid, { type: 'date', label: 'Contract', tag: 'CONTRACT_END' });
    const mapping = { fields: { RENEWS_ON: 'CONTRACT_END' }, events: { renewed: 'contract.renewed' } };
    const { uid } = await makeReadyMade(ctx, { readyMade: 'renewal', listUid: list.uid, name: 'Contracts', mapping });
    const [row] = await queryRows<{ name: string; draft: object }>(
      ctx.db,
      sql`SELECT name, draft FROM automation WHERE uid = ${uid}`,
    );
    const draft = JSON.stringify(row?.draft);
    expect([row?.name, draft.includes('RENEWS_ON'), draft.includes('"contract.renewed"')]).toEqual([
      ...['Contracts', false, true],
    ]);
    const { faults } = await checkAutomation(ctx, uid);
    expect(faults).toEqual([]);
    const texts = await queryRows<{ html: string }>(
      ctx.db,
      sql`SELECT html FROM template WHERE customer_id = ${list.customerId} AND name = 'Renewal: One week left' ORDER BY id DESC LIMIT 1`,
    );
    expect(texts[0]?.html).toContain('Your contract ends on {CONTRACT_END}');
  });
});

test('an abandoned cart brings three mails, and its order ends the flow', async () => {
  const { uid } = await makeReadyMade(ctx, { readyMade: 'abandoned_cart', listUid: list.uid });
  await publishAutomation(ctx, uid, 1);
  await setAutomationStatus(ctx, uid, 'active');
  const [leaves, orders] = [await world.person(), await world.person()];
  // Events are recorded by the clock of the database.
  const begin = Date.now();
  const after = (hours: number) => new Date(begin + hours * HOUR_MS).toISOString();
  const happens = async (personId: bigint, name: string) => {
    const data = { cart_id: `cart ${personId}`, cart_url: 'https://shop.example/cart/7' };
    const event = { personId, kind: 'event' as const, name, at: new Date(), data };
    await recordPersonEvents(ctx.db, { customerId: list.customerId, listId: list.id }, [event]);
    await world.follow();
  };
  await happens(leaves, 'cart_updated');
  await happens(orders, 'cart_updated');
  await world.run(after(0.9));
  expect(await world.mailsSettled()).toEqual([]);
  await world.run(after(1.1));
  await happens(orders, 'order_placed');
  await world.run(after(25));
  await world.run(after(75));
  await using _sender = await runSender(ctx);
  expect(await world.mailsSettled()).toHaveLength(4);
  expect((await world.steps(orders)).toSorted()).toEqual([
    ...['a_day left exit:ordered', 'an_hour entered event', 'an_hour passed next', 'reminder passed next'],
  ]);
  const email = (await world.personRow(leaves))?.email;
  const mails = smtp.accepted.filter(({ to }) => to === email).map(({ content }) => content.replaceAll('=\r\n', ''));
  expect(mails.map((content) => /^Subject: (.*)$/m.exec(content)?.[1]?.trim() ?? '').toSorted()).toEqual([
    'Free delivery, if you order within three days',
    'Was something unclear about your order?',
    'You left something in your cart',
  ]);
  for (const content of mails) expect(content).toContain('https://shop.example/cart/7');
});
