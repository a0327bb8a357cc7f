/**
 * Automations in the running product and what people may expect: who is suppressed or has unsubscribed gets no mail, by whatever way it is caused (hard
 * cases B3, B11), and programs that open and click move nobody (B13).
 */
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { automationRest, line } from '../support/automation-rest.ts';
import { field, mailWorld, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const { db } = app.ctx;
const owner = await app.newTenant();
const { call, here, newList, newCampaign, add, done, mailsTo, mailTo } = mailWorld(app, owner);
const list = await newList();
const { ask, active } = automationRest(app, { token: owner.token, listUid: list.uid });
const WAIT = { timeout: 120_000, interval: 100 };
const [BROWSER, PROGRAM] = [
  { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' },
  { 'user-agent': 'python-requests/2.32' },
];

async function template(subject: string, kind = 'marketing'): Promise<string> {
  const html = '<p>Hello <a href="https://shop.example/">go</a> <a href="{UNSUBSCRIBE_URL}">leave</a></p>';
  return String(field(await call('POST', '/templates', { name: subject, subject, html, kind }), 'template_uid'));
}
const mail = async (subject: string, more: object = {}) => ({
  ...{ id: subject.toLowerCase(), type: 'send_mail', templateUid: await template(subject) },
  ...more,
});
const asks = { id: 'ask', type: 'api_call' };
const EXECUTE = { type: 'execute' };

interface Node {
  readonly id: string;
  readonly type: string;
  readonly [name: string]: unknown;
}

/** One node after the other. */
const flowOf = (trigger: object, ...nodes: readonly Node[]) => ({
  ...{ triggers: [trigger], nodes },
  edges: line('start', ...nodes.map(({ id }) => id)),
});

async function right(method: string, path: string, body?: object): Promise<unknown> {
  const answer = await ask(method, path, body);
  expect(answer.status, `${path} ${answer.text}`).toBeLessThan(300);
  return answer.body;
}
const enter = async (uid: string, ...emails: string[]) => {
  for (const email of emails) await right('POST', `/automations/${uid}/execute`, { email });
};
const callAll = (uid: string) => right('POST', `/automations/${uid}/api/call`, {});
/** No mail waits or is under way. */
const settled = () =>
  expect
    .poll(
      () => queryRows(db, sql`SELECT message_id FROM hot.message_queue WHERE customer_id = ${owner.customerId}`),
      WAIT,
    )
    .toEqual([]);
const subjectsOf = async (email: string) => (await mailsTo(email)).map(({ subject }) => subject ?? '').toSorted();

test('nothing of an automation leaves for who is suppressed or has left, by whatever way', async () => {
  const [gus, lea, witness] = ['gus@gone.example', 'lea@gone.example', 'witness@here.example'];
  const all = [gus, lea, witness];
  const [other, second] = [await newList(), await newList()];
  for (const email of all) await add(list, email, { tag: 'gold' });
  for (const email of [gus, witness]) await add(second, email);

  const receipt = { id: 'receipt', type: 'send_mail', templateUid: await template('Receipt', 'transactional') };
  const inside = await active(flowOf(EXECUTE, asks, await mail('Inside'), receipt));
  const tagged = await active(flowOf({ type: 'tag_added', tag: 'vip' }, await mail('Tagged')));
  const bought = await active(flowOf({ type: 'event', name: 'bought' }, await mail('Bought')));
  const changed = await active(flowOf(EXECUTE, { ...asks, id: 'old' }));
  const first = await mail('First');
  const finished = await active(flowOf(EXECUTE, first));
  const existing = await active(flowOf({ type: 'tag_added', tag: 'gold' }, await mail('Existing')));
  const started = await active(flowOf(EXECUTE, await mail('Started')));
  const starting = await active(flowOf(EXECUTE, asks, { id: 'go', type: 'start_flow', automationUid: started }));
  const copying = await active(flowOf(EXECUTE, asks, { id: 'copy', type: 'copy_to_list', listUid: other.uid }));
  const onOther = automationRest(app, { token: owner.token, listUid: other.uid });
  const copied = await onOther.active(flowOf({ type: 'subscribed' }, await mail('Copied')));
  const bye = await mail('Bye', { isGoodbye: true });
  const leaving = await automationRest(app, { token: owner.token, listUid: second.uid }).active(
    flowOf(EXECUTE, asks, { id: 'leave', type: 'unsubscribe' }, bye),
  );
  for (const uid of [inside, changed, finished, starting, copying]) await enter(uid, ...all);
  await enter(leaving, gus, witness);
  for (const email of all) await mailTo(email);
  await settled();

  // One by hand, one by the link of the mail, as a mailbox provider does it.
  expect((await call('POST', '/suppressions', { email: gus })).status).toBeLessThan(300);
  const header = (await mailTo(lea)).headers.find(({ key }) => key === 'list-unsubscribe')?.value;
  const left = await fetch(here(/<(http[^>]+)>/.exec(header ?? '')?.[1]), {
    ...{ method: 'POST', body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }) },
  });
  expect(left.status).toBe(200);

  for (const uid of [inside, starting, copying, leaving]) await callAll(uid);
  for (const email of all) {
    await call('POST', `/subscribers/${email}/add-tag`, { tag: 'vip', list_uid: list.uid });
    await call('POST', '/events', { name: 'bought', email, list_uid: list.uid });
  }
  await right('PATCH', `/automations/${changed}`, { flow: flowOf(EXECUTE, await mail('Moved')), draft_version: 1 });
  await right('POST', `/automations/${changed}/publish`, { draft_version: 2, moves: { old: 'moved' } });
  const longer = flowOf(EXECUTE, first, await mail('Second'));
  await right('PATCH', `/automations/${finished}`, { flow: longer, draft_version: 1 });
  await right('POST', `/automations/${finished}/publish`, { draft_version: 2 });
  const { people } = (await right('GET', `/automations/${finished}/finished`)) as { people: number };
  await right('POST', `/automations/${finished}/finished/send`, { node: 'second', people });
  const { may_enter } = (await right('GET', `/automations/${existing}/enter_existing`)) as { may_enter: number };
  expect(may_enter).toBe(1);
  await right('POST', `/automations/${existing}/enter_existing`, { people: may_enter, per_hour: 1_000_000 });
  const refusals = [];
  for (const email of [gus, lea]) refusals.push(await ask('POST', `/automations/${started}/execute`, { email }));
  expect(refusals.map((one) => [one.status, field(one, 'refused')])).toEqual([
    [422, 'suppressed'],
    [422, 'not_subscribed'],
  ]);
  expect((await ask('POST', `/automations/${inside}/tests`, { email: gus })).status).toBe(422);

  const subjects = ['Bought', 'Bye', 'Copied', 'Existing', 'First', 'Inside', 'Moved', 'Receipt', 'Second', 'Started'];
  await expect.poll(() => subjectsOf(witness), WAIT).toEqual([...subjects, 'Tagged'].toSorted());
  const flows = [inside, tagged, bought, changed, finished, existing, started, starting, copying, copied, leaving];
  const waiting = async () => {
    const runs = await Promise.all(flows.map((uid) => ask('GET', `/automations/${uid}/runs?state=waiting`)));
    return runs.flatMap((one) => field(one, 'runs') as object[]);
  };
  await expect.poll(waiting, WAIT).toEqual([]);
  await settled();
  expect([await subjectsOf(gus), await subjectsOf(lea)]).toEqual([['First'], ['First']]);
});

/** The links of the newest mail to a person. */
async function linksTo(email: string) {
  const { html } = await mailTo(email);
  const link = (route: string) =>
    here(new RegExp(`"([^"]+/${route}/[^"]+)"`).exec(html ?? '')?.[1]?.replaceAll('&amp;', '&'));
  return { click: link('c'), pixel: link('o') };
}

async function look(email: string, headers: Record<string, string>): Promise<void> {
  const { click, pixel } = await linksTo(email);
  expect((await fetch(pixel, { headers })).status).toBe(200);
  expect((await fetch(click, { headers, redirect: 'manual' })).status).toBe(302);
}

test('what programs open and click begins no flow, ends no wait, meets no condition and reaches no goal', async () => {
  const reads = await newList();
  const rest = automationRest(app, { token: owner.token, listUid: reads.uid });
  const [human, program] = ['human@read.example', 'program@read.example'];
  for (const email of [human, program]) await add(reads, email);
  const tag = (name: string) => ({ id: name, type: 'add_tag', tag: name });
  const triggers = [{ type: 'campaign_opened' }, { type: 'campaign_clicked' }];
  const begins = await rest.active({ ...flowOf(EXECUTE, tag('began')), triggers });
  const waits = await rest.active({
    triggers: [EXECUTE],
    nodes: [
      await mail('Wait'),
      { id: 'look', type: 'wait_for_event', event: { type: 'opened' }, for: { days: 1 } },
      tag('waited'),
    ],
    edges: line('start', 'wait', 'look', 'waited'),
  });
  const judges = await rest.active({
    triggers: [EXECUTE],
    nodes: [await mail('Judge'), asks, { id: 'if', type: 'condition', if: { clicked: { mail: 'judge' } } }, tag('met')],
    edges: [...line('start', 'judge', 'ask', 'if'), { from: 'if', port: 'yes', to: 'met' }],
  });
  const reaches = await rest.active({
    ...flowOf(EXECUTE, await mail('Goal'), asks),
    goals: [{ id: 'read', event: { type: 'opened' } }],
  });
  const campaign = await newCampaign(reads, { html: '<p><a href="https://shop.example/">go</a></p>' });
  await call('POST', `/campaigns/${campaign}/run`);
  await done(campaign);
  const sent = async (subject: string) =>
    until(async () => {
      const got = await Promise.all([human, program].map(subjectsOf));
      return got.every((one) => one.includes(subject)) ? true : undefined;
    });
  // Nobody reads within a second.
  const anHourLater = () => db.execute(sql`UPDATE hot.delivery SET updated_at = updated_at - interval '1 hour'`);
  const allLook = async () => {
    await anHourLater();
    await look(program, PROGRAM);
    await look(human, BROWSER);
  };
  await allLook();
  for (const [uid, subject] of [
    [waits, 'Wait'],
    [judges, 'Judge'],
    [reaches, 'Goal'],
  ] as const) {
    await enter(uid, human, program);
    await sent(subject);
    await settled();
    await allLook();
  }
  const counted = async (uid: string, node: string) => {
    const { versions } = (await right('GET', `/automations/${uid}/counts`)) as {
      versions: { nodes: ({ node: string } & Record<string, unknown>)[] }[];
    };
    return versions[0]?.nodes.find((one) => one.node === node);
  };
  await expect.poll(() => counted(begins, 'began'), WAIT).toMatchObject({ entered: 1, passed: 1 });
  await expect.poll(() => counted(waits, 'look'), WAIT).toMatchObject({ waiting: 1, passed: 1 });
  await expect.poll(() => counted(reaches, 'ask'), WAIT).toMatchObject({ waiting: 1, left: 1 });
  await callAll(judges);
  await expect.poll(() => counted(judges, 'if'), WAIT).toMatchObject({ passed: 2 });
  const tags = async (email: string) =>
    (field(await call('GET', `/subscribers/${email}`), 'subscriber', 'tags') as string[]).toSorted();
  await expect.poll(() => tags(human), WAIT).toEqual(['began', 'met', 'waited']);
  expect(await counted(judges, 'met')).toMatchObject({ entered: 1 });
  expect(await tags(program)).toEqual([]);
});
