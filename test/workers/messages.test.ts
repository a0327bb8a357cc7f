/**
 * Messages from the entry points to the mailbox: files that go along, previews, tests and dry runs; and that nothing at all
 * leaves for somebody who is suppressed (B11), by whatever way it was asked for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql, type Sql } from '../../src/db/database.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { field, mailWorld, PICTURE, until } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';
import { framedMessage } from '../support/web-view.ts';

const app = await startRestApp({ ROLES: 'web,worker,cron', INBOX: 'on', INBOX_SMTP_PORT: '0' });
const rowsOf = <Row = Record<string, unknown>>(statement: Sql) => queryRows<Row>(db, statement);
const owner = await app.newTenant();
const { db } = app.ctx;
const world = mailWorld(app, owner);
const {
  call,
  mailsTo,
  mailTo,
  newList,
  newCampaign,
  add,
  statusOf,
  done,
  attach,
  begin,
  reasonOfPause,
  preview,
  here,
} = world;

test('files go along with every message, and pictures are shown from the mail itself', async () => {
  const list = await newList();
  await add(list, 'ann@files.example', { FIRST_NAME: 'Ann' });
  const upload = new FormData();
  upload.append('file', new Blob([new Uint8Array(PICTURE)]), 'shown.png');
  const shown = String(
    field(await app.rest('/file/upload', { method: 'POST', body: upload, token: owner.token }), 'url'),
  );
  const html = `<p>{FIRST_NAME} <img src="cid:logo.png"><img src="${shown}"></p>`;
  const campaign = await newCampaign(list, { html, embed_images: 1 });
  const inline = await attach(campaign, 'logo.png', { inline: '1' });
  expect(inline.status, inline.text).toBe(201);
  expect(field(inline, 'attachment')).toMatchObject({
    name: 'logo.png',
    inline: true,
    missing: false,
    content_type: 'image/png',
  });
  const report = await attach(campaign, 'Bericht März.csv', {}, new TextEncoder().encode('a,b\r\n1,2\r\n'));
  expect(report.status, report.text).toBe(201);
  expect((await call('POST', `/campaigns/${campaign}/run`)).status).toBe(200);
  await done(campaign);
  const mail = await mailTo('ann@files.example');
  const files = mail.attachments.map(({ filename, mimeType, disposition }) => [filename, mimeType, disposition]);
  expect(files).toEqual([
    ['logo.png', 'image/png', 'inline'],
    ['shown.png', 'image/png', 'inline'],
    ['Bericht März.csv', 'text/csv', 'attachment'],
  ]);
  for (const { contentId } of mail.attachments.slice(0, 2))
    expect(mail.html).toContain(`src="cid:${contentId?.slice(1, -1)}"`);
  expect(mail.html).not.toContain(shown);
  const page = mail.text?.match(/view\/\S+/) ? '' : await preview(campaign);
  expect(page).toContain(shown);
});

test('says what may not be attached, and attaches nothing then', async () => {
  const list = await newList();
  const campaign = await newCampaign(list);
  const other = await newCampaign(list);
  const filesBefore = field(await call('GET', '/files'), 'meta', 'total');
  for (const [name, fields] of [
    ['virus.exe', {}],
    ['a.pdf.js', {}],
    ['note.txt', { inline: '1' }],
    ['x.png', { name: 'x.exe' }],
  ] as const) {
    const bytes = name.endsWith('.png') ? new Uint8Array(PICTURE) : new TextEncoder().encode('text');
    const answer = await attach(campaign, name, fields, bytes);
    expect(answer.status, answer.text).toBe(422);
  }
  expect(field(await call('GET', '/files'), 'meta', 'total')).toBe(filesBefore);
  for (let no = 0; no < 30; no++) expect((await attach(campaign, `${no}.png`)).status).toBe(201);
  expect((await attach(campaign, 'one too many.png')).status).toBe(422);
  const [first] = field(await call('GET', `/campaigns/${campaign}/attachments`), 'attachments') as { uid: string }[];
  expect((await call('DELETE', `/campaigns/${other}/attachments/${first?.uid}`)).status).toBe(404);
  expect((await call('DELETE', `/campaigns/${campaign}/attachments/${first?.uid}`)).status).toBe(200);
});

test('a campaign whose file was deleted says so, and sends nothing that is broken', async () => {
  const list = await newList();
  await add(list, 'bea@missing.example');
  const campaign = await newCampaign(list);
  const attached = await attach(campaign, 'plan.png');
  const fileUid = async () =>
    (
      await rowsOf<{ uid: string }>(
        sql`SELECT uid FROM uploaded_file WHERE customer_id = ${owner.customerId} AND name = 'plan.png'`,
      )
    ).at(-1)?.uid;
  expect(await statusOf(campaign)).toBe('ready');
  expect((await call('DELETE', `/files/${await fileUid()}`)).status).toBe(200);
  const shown = await call('GET', `/campaigns/${campaign}`);
  expect(field(shown, 'campaign')).toMatchObject({
    status: 'new',
    status_reason: expect.stringContaining('"plan.png" is missing'),
  });
  const refused = await call('POST', `/campaigns/${campaign}/run`);
  expect(refused.status).toBe(422);
  expect(field(refused, 'errors', 'attachments')).toEqual([expect.stringContaining('plan.png')]);
  expect((await call('PATCH', `/campaigns/${campaign}`, { subject: 'Still possible' })).status).toBe(200);
  expect(await statusOf(campaign)).toBe('new');
  expect(
    (await call('DELETE', `/campaigns/${campaign}/attachments/${String(field(attached, 'attachment_uid'))}`)).status,
  ).toBe(200);
  expect(field(await call('GET', `/campaigns/${campaign}`), 'campaign')).toMatchObject({
    status: 'ready',
    status_reason: null,
  });

  // Under way: paused with the reason by whoever composes next; put back, it goes on.
  await attach(campaign, 'plan.png');
  await begin(campaign);
  expect((await call('DELETE', `/files/${await fileUid()}`)).status).toBe(200);
  expect((await call('POST', `/campaigns/${campaign}/resume`)).status).toBe(200);
  expect(await reasonOfPause(campaign)).toContain('"plan.png" is missing');
  expect(await mailsTo('bea@missing.example')).toEqual([]);
  expect((await attach(campaign, 'also.png')).status).toBe(201);
  expect((await attach(campaign, 'plan.png')).status).toBe(201);
  expect((await call('POST', `/campaigns/${campaign}/resume`)).status).toBe(200);
  await done(campaign);
  const { attachments } = await mailTo('bea@missing.example');
  expect(attachments.map(({ filename }) => filename)).toEqual(['plan.png', 'also.png']);
  expect((await attach(campaign, 'late.png')).status).toBe(422);
  expect((await call('PATCH', `/campaigns/${campaign}`, { name: 'As it was' })).status).toBe(200);
  expect((await call('PATCH', `/campaigns/${campaign}`, { name: 'x', subject: 'x' })).status).toBe(422);
});

test('without skip_failed_messages a campaign stops at the first person it cannot be composed for', async () => {
  const list = await newList();
  await add(list, 'fay@failed.example');
  const [odd] = await rowsOf<{ id: bigint }>(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    VALUES (${owner.customerId}, ${list.id}, '"odd"@failed.example', '"odd"@failed.example', 'subscribed', '{}') RETURNING id`);
  const campaign = await newCampaign(list, { skip_failed_messages: 0 });
  await call('POST', `/campaigns/${campaign}/run`);
  expect(await reasonOfPause(campaign)).toContain(
    `subscriber ${subscriberUid(odd?.id ?? 0n)} could not be composed. This is not a plain`,
  );
  expect((await call('PATCH', `/campaigns/${campaign}`, { skip_failed_messages: 1 })).status).toBe(200);
  expect((await call('PATCH', `/campaigns/${campaign}`, { html: '<p>new</p>' })).status).toBe(422);
  await call('POST', `/campaigns/${campaign}/resume`);
  await done(campaign);
  const rows = await rowsOf(
    sql`SELECT d.state::text, d.reason FROM hot.delivery d JOIN campaign c ON c.id = d.source_id WHERE c.uid = ${campaign} ORDER BY d.recipient_id`,
  );
  expect(rows).toEqual([
    { state: 'sent', reason: null },
    { state: 'failed', reason: 'not_composed' },
  ]);
  expect((await mailsTo('fay@failed.example')).length).toBe(1);
});

test('nothing leaves for somebody who is suppressed, by whatever way (B11)', async () => {
  const [list, other] = [await newList(), await newList()];
  const gus = 'gus@suppressed.example';
  const witness = 'witness@suppressed.example';
  const uid = await add(list, gus);
  for (const one of [list, other]) await add(one, witness);
  const doubtful = await newCampaign(list, { name: 'doubtful' });
  await begin(doubtful);
  await db.execute(sql`
    WITH d AS (UPDATE hot.delivery SET state = 'unknown' WHERE source_id = (SELECT id FROM campaign WHERE uid = ${doubtful}) AND email = ${gus} RETURNING source_id)
    UPDATE hot.delivery_counter SET open = open - 1, unknown = unknown + 1 WHERE source_id = (SELECT source_id FROM d)`);
  expect((await call('POST', '/suppressions', { email: gus })).status).toBeLessThan(300);

  // A campaign to the list, one to another list that gets the address by an import or by hand, and one planned before.
  const csv = new FormData();
  csv.append('file', new Blob([`EMAIL,FIRST_NAME\r\n${gus},Gus\r\nimported@suppressed.example,I\r\n`]), 'people.csv');
  const started = await app.rest(`/lists/${other.uid}/import`, { method: 'POST', body: csv, token: owner.token });
  await until(async () =>
    field(
      await call('GET', `/lists/${other.uid}/imports/${String(field(started, 'import_uid'))}`),
      'import',
      'status',
    ) === 'done'
      ? true
      : undefined,
  );
  await call('POST', '/subscribers', { list_uid: other.uid, EMAIL: gus });
  for (const path of [`/subscribers/${uid}`, `/subscribers/${gus}`])
    await call('PATCH', path, { status: 'subscribed', list_uid: list.uid });
  const campaigns = [await newCampaign(list), await newCampaign(other)];
  for (const campaign of campaigns) await call('POST', `/campaigns/${campaign}/run`);
  await call('POST', `/campaigns/${doubtful}/resume`);
  // Sent again by decision.
  const decide = `mutation { decideUnknownDeliveries(uid: "${doubtful}", decision: resend) { __typename } }`;
  const headers = { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` };
  await fetch(`${app.baseUrl}/graphql`, { method: 'POST', headers, body: JSON.stringify({ query: decide }) });
  // A test, asked for now, and one that was asked for before.
  const refused = await call('POST', `/campaigns/${campaigns[0]}/test`, { emails: [witness, gus] });
  expect([refused.status, field(refused, 'errors', 'emails')]).toEqual([422, [expect.stringContaining(gus)]]);
  await db.execute(sql`
    WITH t AS (INSERT INTO test_message (customer_id, campaign_id, email) SELECT customer_id, id, ${gus.toUpperCase()} FROM campaign WHERE uid = ${campaigns[0]} RETURNING customer_id, campaign_id, id)
    SELECT graphile_worker.add_job('campaigns.send-tests', json_build_object('customerId', customer_id::text, 'campaignId', campaign_id::text, 'testIds', json_build_array(id::text))) FROM t`);
  // Mails of lists: to confirm, to welcome, to say goodbye.
  const talking = await newList();
  await call('PATCH', `/lists/${talking.uid}`, {
    subscribe_confirmation: 1,
    send_welcome_email: 1,
    send_goodbye_email: 1,
  });
  for (const email of [gus, witness]) await call('POST', '/subscribers', { list_uid: talking.uid, EMAIL: email });
  await call('PATCH', `/lists/${talking.uid}/subscribers/${gus}/subscribe`);
  await call('PATCH', `/lists/${talking.uid}/subscribers/email/${gus}/unsubscribe`);

  for (const campaign of [...campaigns, doubtful]) await done(campaign);
  await until(async () => {
    const tests = field(await call('GET', `/campaigns/${campaigns[0]}/tests`), 'tests') as { status: string }[];
    return tests[0]?.status === 'suppressed' ? true : undefined;
  });
  // The confirmation to the other one was asked for later than everything above.
  await until(async () => ((await mailsTo(witness)).length === 4 ? true : undefined));
  await sleep(500);
  const everybody = await rowsOf<{ to: string }>(sql`SELECT DISTINCT lower(unnest(rcpt_to)) AS to FROM inbox.message`);
  expect(everybody.map(({ to }) => to)).toEqual(expect.arrayContaining([witness, 'imported@suppressed.example']));
  expect(everybody.map(({ to }) => to)).not.toContain(gus);
});

test('a test is what recipients get, with links that belong to nobody, and no figure knows of it', async () => {
  const list = await newList();
  const cara = await add(list, 'cara@tests.example', { FIRST_NAME: 'Cara' });
  const campaign = await newCampaign(list, {
    html: '<p>{FIRST_NAME} <a href="https://shop.example/">go</a> <a href="{UNSUBSCRIBE_URL}">stop</a> <a href="{WEB_VIEW_URL}">view</a></p>',
  });
  const asked = await call('POST', `/campaigns/${campaign}/test`, {
    emails: 'boss@tests.example, cara@tests.example',
    subscriber: '',
  });
  expect(asked.status, asked.text).toBe(201);
  expect((field(asked, 'tests') as { status: string }[]).map(({ status }) => status)).toEqual(['queued', 'queued']);
  const [forBoss, forCara] = [await mailTo('boss@tests.example'), await mailTo('cara@tests.example')];
  expect([forBoss.subject, forCara.subject]).toEqual(['[Test] Hi', '[Test] Hi Cara']);
  expect(forCara.headers.map(({ key }) => key)).toContain('list-unsubscribe-post');
  expect(forCara.html).toContain('.gif');
  await call('POST', `/campaigns/${campaign}/test`, {
    emails: ['plain@tests.example'],
    subscriber: cara,
    mark_subject: 0,
  });
  expect((await mailTo('plain@tests.example')).subject).toBe('Hi Cara');

  const [, click, stop, view] = [...(forCara.html ?? '').matchAll(/(?:href|src)="([^"]+)"/g)]
    .map(([, url]) => url)
    .reduce<string[]>((all, url) => [...all, url ?? ''], ['']);
  expect((await fetch(here(click), { redirect: 'manual' })).headers.get('location')).toBe('https://shop.example/');
  const gone = await fetch(here(stop), {
    method: 'POST',
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  });
  expect([gone.status, await gone.text()]).toEqual([200, expect.stringContaining('nobody was unsubscribed')]);
  expect(await framedMessage(here(view))).toContain('/c/');
  expect((await fetch(here(/src="([^"]+\.gif)"/.exec(forCara.html ?? '')?.[1]))).status).toBe(200);
  const { campaign: after, statistics } = (await call('GET', `/campaigns/${campaign}`)).body as {
    campaign: object;
    statistics: object;
  };
  expect(after).toMatchObject({ status: 'ready' });
  expect(statistics).toMatchObject({
    subscriber_count: 0,
    delivered_count: 0,
    open_count: 0,
    click_count: 0,
    unsubscribe_count: 0,
  });
  const [still] = await rowsOf<{ status: string }>(
    sql`SELECT status FROM subscriber WHERE email_key = 'cara@tests.example'`,
  );
  expect(still?.status).toBe('subscribed');
  const told = await until(async () => {
    const tests = field(await call('GET', `/campaigns/${campaign}/tests`), 'tests') as {
      email: string;
      status: string;
      reply: string;
    }[];
    return tests.every(({ status }) => status === 'sent') ? tests : undefined;
  });
  expect(told.map(({ email }) => email)).toEqual(['plain@tests.example', 'cara@tests.example', 'boss@tests.example']);
});

test('tests are few: ten addresses, a hundred an hour, once per request', async () => {
  const tenant = await app.newTenant();
  const list = await newList(tenant);
  const body = {
    list_uid: list.uid,
    name: 'x',
    subject: 'x',
    from_email: 'a@sender.example',
    from_name: 'x',
    html: '<p>x</p>',
  };
  const uid = String(field(await call('POST', '/campaigns', body, tenant.token), 'campaign_uid'));
  const ask = (emails: string[]) => call('POST', `/campaigns/${uid}/test`, { emails }, tenant.token);
  const ten = (no: number) => Array.from({ length: 10 }, (_, at) => `${no}-${at}@few.example`);
  for (const wrong of [[], [...ten(0), 'eleventh@few.example'], ['no address']])
    expect((await ask(wrong)).status).toBe(422);
  // The hundredth address is the last, whoever comes first. Ten at once: a busy machine refuses some of 20.
  const askAll = (from: number, to: number) =>
    Promise.all(Array.from({ length: to - from }, (_, no) => ask(ten(from + no))));
  const answers = [...(await askAll(0, 4)), ...(await askAll(4, 14)), ...(await askAll(14, 20))];
  const statuses = answers.map(({ status }) => status).toSorted((a, b) => a - b);
  expect(statuses).toEqual([...Array(10).fill(201), ...Array(10).fill(429)]);
  const [row] = await rowsOf<{ count: number }>(
    sql`SELECT count(*)::int AS count FROM test_message WHERE customer_id = ${tenant.customerId}`,
  );
  expect(row?.count).toBe(100);
  const one = `sendTestCampaign(input: { uid: "${uid}", emails: ["x@few.example"] }) { __typename }`;
  const graphql = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${owner.token}` },
    body: JSON.stringify({ query: `mutation { a: ${one} b: ${one} }` }),
  });
  expect(await graphql.text()).toContain('RateLimitedError');
});

test('a preview shows the message to a subscriber of the list, and to nobody else', async () => {
  const [list, other] = [await newList(), await newList()];
  const dora = await add(list, 'dora@preview.example', { FIRST_NAME: 'Dora <b>' });
  const stranger = await add(other, 'eve@preview.example');
  const campaign = await newCampaign(list, {
    html: '<p>{FIRST_NAME} {UNSUBSCRIBE_URL} <a href="https://shop.example/">go</a> {NO_SUCH_TAG} <a href="https://{FIRST_NAME}/">x</a></p>',
  });
  const { preview: shown } = (await call('GET', `/campaigns/${campaign}/preview?subscriber=${dora}`)).body as {
    preview: Record<string, unknown>;
  };
  expect(shown).toMatchObject({
    subject: 'Hi Dora <b>',
    links: ['https://shop.example/', 'https://{FIRST_NAME}/'],
    warnings: ['NO_SUCH_TAG', 'postal address', 'is no web address'].map((text) => expect.stringContaining(text)),
  });
  expect(shown['html']).toContain('Dora &lt;b&gt;');
  expect(shown['html']).not.toContain('.gif');
  const names = (shown['headers'] as { name: string }[]).map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(['From', 'List-Unsubscribe', 'Feedback-ID', 'Content-Type']));
  expect(await preview(campaign, '?subscriber=dora@preview.example')).toContain('Dora');
  expect(await preview(campaign)).not.toContain('Dora');
  expect((await call('GET', `/campaigns/${campaign}/preview?subscriber=${stranger}`)).status).toBe(422);
  expect((await call('GET', `/campaigns/${campaign}/preview?subscriber=${subscriberUid(999_999n)}`)).status).toBe(404);
  await call('PATCH', `/campaigns/${campaign}`, { subject: '', from_name: '' });
  expect(await statusOf(campaign)).toBe('new');
  expect(await preview(campaign, `?subscriber=${dora}`)).toContain('Dora');
});

test('a dry run tells who gets what, who does not and why, and sends nothing', async () => {
  const list = await newList();
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags, fields)
    SELECT ${owner.customerId}, ${list.id}, 'r' || n || '@dry.example', 'r' || n || '@dry.example',
           CASE WHEN n % 10 = 1 THEN 'unsubscribed' ELSE 'subscribed' END, '{}', jsonb_build_object('FIRST_NAME', CASE WHEN n % 100 = 2 THEN '' ELSE 'N' || n END)
      FROM generate_series(1, 1200) n`);
  await db.execute(
    sql`INSERT INTO suppression (customer_id, email_key, reason) SELECT ${owner.customerId}, 'r' || n || '@dry.example', 'manual' FROM generate_series(10, 100, 10) n`,
  );
  await db.execute(sql`
    INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
    SELECT ${owner.customerId}, ${list.id}, '"odd ' || n || '"@dry.example', '"odd ' || n || '"@dry.example', 'subscribed', '{}' FROM generate_series(1, 120) n`);
  const campaign = await newCampaign(list, { html: '<p>{FIRST_NAME} {{ subscriber.first_name | upcase }}</p>' });
  const started = await call('POST', `/campaigns/${campaign}/dry_run`);
  expect(started.status, started.text).toBe(201);
  const run = await until(async () => {
    const found = field(await call('GET', `/campaigns/${campaign}/dry_run`), 'dry_run') as Record<string, unknown>;
    return found['status'] === 'done' || found['status'] === 'failed' ? found : undefined;
  });
  expect(run).toMatchObject({
    status: 'done',
    total: 1320,
    looked_at: 1320,
    composed: 1070,
    faulty: 120,
    skipped: { unsubscribed: 120, suppressed: 10 },
  });
  const faults = run['faults'] as { email: string; message: string }[];
  expect([faults.length, faults[0]]).toEqual([
    100,
    expect.objectContaining({ email: '"odd 1"@dry.example', message: 'This is not a plain mail address.' }),
  ]);
  expect(Number(run['total_bytes'])).toBeGreaterThan(1070 * 1_000);
  expect(
    await rowsOf(sql`SELECT 1 FROM hot.delivery d JOIN campaign c ON c.id = d.source_id WHERE c.uid = ${campaign}`),
  ).toEqual([]);
  expect(
    await rowsOf(sql`SELECT 1 FROM inbox.message WHERE array_to_string(rcpt_to, ',') LIKE '%@dry.example%'`),
  ).toEqual([]);
  expect((await call('DELETE', `/campaigns/${campaign}/dry_run`)).status).toBe(422);
});
