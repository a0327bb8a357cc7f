/** Where histories are played: a list with people, another one to which they are copied, and the templates of mails. */
import { sql } from '../../src/db/database.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { addListField } from '../../src/domain/audience/add-list-field.ts';
import { addSubscriber } from '../../src/domain/audience/add-subscriber.ts';
import { setFrequencyCap } from '../../src/domain/audience/customer-frequency-cap.ts';
import { unsubscribeSubscriber } from '../../src/domain/audience/unsubscribe-subscriber.ts';
import { updateList } from '../../src/domain/audience/update-list.ts';
import { createAutomation } from '../../src/domain/automations/create-automation.ts';
import { setAutomationStatus } from '../../src/domain/automations/stopping/set-automation-status.ts';
import { publishAutomation } from '../../src/domain/automations/versions/publish-automation.ts';
import { SOURCE_KINDS } from '../../src/domain/source-key.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { startCuttingProxy } from '../support/cutting-proxy.ts';
import { startFlowMailWorld } from '../support/flow-mail-world.ts';
import { insertAutomationWebhook } from '../support/insert-webhook.ts';
import { givePlan } from '../support/plans.ts';
import { newList } from '../support/tenant.ts';
import { TEMPLATES, type FlowData, type Happening, type HistoryData } from './flow-data.ts';

export const LIST_ZONE = 'Asia/Kolkata';
export type Stage = Awaited<ReturnType<typeof startStage>>;

export async function startStage() {
  const world = await startFlowMailWorld({ smtpPort: 1 });
  const { ctx, list } = world;
  const other = await newList(ctx);
  await givePlan(ctx.db, list.customerId, {});
  for (const { uid } of [list, other]) await addListField(ctx, uid, { type: 'text', label: 'Level', tag: 'LEVEL' });
  await addListField(ctx, list.uid, { type: 'text', label: 'Zone', tag: 'ZONE' });
  await addListField(ctx, list.uid, { type: 'date', label: 'Ends', tag: 'ENDS' });
  await updateList(ctx, list.uid, { timezone: LIST_ZONE, timezoneTag: 'ZONE' });
  await ctx.db.execute(sql`SELECT hot.ensure_partitions('2026-02-15', '2026-06-15')`);
  const proxy = await startCuttingProxy(ctx.database.url);
  await insertAutomationWebhook(ctx, list.customerId);
  const templates = new Map<string, string>();
  for (const [letter, kind] of Object.entries(TEMPLATES))
    templates.set(letter, await world.template({ subject: letter, html: `<p>${letter}</p>`, kind }));
  let made = 0;
  let handed = 0n;
  return {
    ...{ ctx, list, other, proxy, templates },
    suppress: (personId: bigint) =>
      ctx.db.execute(
        sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT customer_id, email_key, 'bounce' FROM subscriber WHERE id = ${personId}
            ON CONFLICT DO NOTHING`,
      ),
    /** A campaign’s message: it takes a place in the caps. */
    handOver: async (personId: bigint, { at, isElsewhere = false }: Extract<Happening, { do: 'campaign' }>) => {
      await ctx.db.execute(
        sql`INSERT INTO hot.capped_message (customer_id, email_key, source_kind, source_id, occurrence, list_id, at)
            SELECT customer_id, email_key, ${SOURCE_KINDS.campaign}, ${(handed += 1n)}, 0, ${isElsewhere ? other.id : list.id}::bigint, ${new Date(at)} FROM subscriber WHERE id = ${personId}`,
      );
    },
    /** Dates of the next history’s flows would bring them in. */
    removePeople: (emails: readonly string[]) =>
      ctx.db.execute(
        sql`DELETE FROM subscriber WHERE customer_id = ${list.customerId} AND email = ANY (${[...emails]}::text[])`,
      ),
    newEmail: () => `m${(made += 1)}@example.org`,
    async idOf(uid: string): Promise<bigint> {
      const [found] = await queryRows<{ id: bigint }>(ctx.db, sql`SELECT id FROM automation WHERE uid = ${uid}`);
      if (!found) throw new Error('The automation is not there.');
      return found.id;
    },
  };
}

/** The people of a history on both lists, the list's quiet hours, and the caps of both. */
export async function addPeople(
  { ctx, list, other, newEmail }: Stage,
  { people, there = [], quiet, cap, customerCap }: HistoryData,
) {
  await updateList(ctx, list.uid, { quietHours: quiet ?? null, frequencyCap: cap ?? null });
  await setFrequencyCap(ctx, { frequencyCap: customerCap ?? null });
  const ids: bigint[] = [];
  const emails: string[] = [];
  for (const [no, { ...fieldValues }] of people.entries()) {
    const email = newEmail();
    emails.push(email);
    ids.push((await addSubscriber(ctx, { listUid: list.uid, email, fieldValues })).id);
    const known = there[no];
    if (!known) continue;
    const { status, tags, level } = known;
    const { id } = await addSubscriber(ctx, { listUid: other.uid, email, fieldValues: { LEVEL: level }, tags });
    if (status === 'unsubscribed')
      await unsubscribeSubscriber(ctx, { subscriber: subscriberUid(id), listUid: other.uid });
  }
  return { ids, emails };
}

/** A flow of a history in the product. */
export interface PublishedFlow {
  readonly uid: string;
  readonly key: { readonly customerId: bigint; readonly automationId: bigint };
  readonly version: number;
}

/** The flow of the history and those that it starts, which are active then: each may start those behind it. */
export async function publishFlows(stage: Stage, { flows: [first], started = [] }: HistoryData) {
  const others: PublishedFlow[] = [];
  for (const [no, flow] of [...started.entries()].toReversed()) others[no] = await publishFlow(stage, flow, others);
  return { main: await publishFlow(stage, first, others), others };
}

async function publishFlow(
  stage: Stage,
  flow: FlowData | undefined,
  others: readonly PublishedFlow[],
): Promise<PublishedFlow> {
  const { ctx, list } = stage;
  const made = { listUid: list.uid, name: 'Model', flow: flowOfProduct(stage, flow, others) };
  const { uid } = await createAutomation(ctx, made);
  const { number: version } = await publishAutomation(ctx, uid, 1);
  await setAutomationStatus(ctx, uid, 'active');
  return { uid, key: { customerId: list.customerId, automationId: await stage.idOf(uid) }, version };
}

/** With the uids of templates, of the other list and of the other flows. */
export function flowOfProduct(
  { templates, other }: Stage,
  flow: FlowData | undefined,
  others: readonly PublishedFlow[],
): object {
  if (!flow) throw new Error('The history has no such flow.');
  const nodes = flow.nodes.map((node): object => {
    if (node.type === 'send_mail') return { ...node, templateUid: templates.get(node.templateUid) };
    if (node.type === 'start_flow') return { id: node.id, type: node.type, automationUid: others[node.flow]?.uid };
    return node.type === 'copy_to_list' || node.type === 'move_to_list' ? { ...node, listUid: other.uid } : node;
  });
  return { ...flow, nodes };
}
