/** Lifecycle webhooks in the running program: what is told, how it is signed, tried again, paused and sent again. */
import { createHmac } from 'node:crypto';
import { Webhook } from 'standardwebhooks';
import { expect, test } from 'vitest';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { fireAutomationWebhook } from '../../src/domain/webhooks/fire-automation-webhook.ts';
import { kindOfEvent, WEBHOOK_EVENTS, webhookEventNames } from '../../src/domain/webhooks/webhook-events.ts';
import { subscriberUid } from '../../src/lib/ids.ts';
import { startRestApp } from '../support/rest-app.ts';
import { webhookReceiver, type ReceivedHook } from '../support/webhook-receiver.ts';

const app = await startRestApp({ ROLES: 'web,worker', OUTBOUND_ALLOW_HOSTS: '127.0.0.1' });
const { db } = app.ctx;
const lifecycleEvents = webhookEventNames.filter((name) => kindOfEvent(name) === 'lifecycle');
const WAIT = { timeout: 120_000, interval: 100 };

interface Made {
  readonly webhook_uid: string;
  readonly secret: string;
}

async function post<Body>(path: string, body: Record<string, unknown> = {}, method = 'POST'): Promise<Body> {
  const answer = await app.rest(path, { method, body, token: app.adminToken });
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  return answer.body as Body;
}

const makeWebhook = (values: Record<string, unknown>) => post<Made>('/webhooks', { name: 'Books', ...values });

interface Logged {
  readonly uid: string;
  readonly state: string;
  readonly body: string;
  readonly attempts: readonly {
    status: number | null;
    error: string | null;
    answer: string | null;
    request: { headers: Record<string, string> };
  }[];
}

async function logOf({ webhook_uid: uid }: Made, state?: string): Promise<readonly Logged[]> {
  const filter = state === undefined ? '' : `?state=${state}`;
  const { body } = await app.rest(`/webhooks/${uid}/deliveries${filter}`, { token: app.adminToken });
  return (body as { data: Logged[] }).data;
}

function verifies({ headers, body }: ReceivedHook, secret: string): void {
  new Webhook(secret).verify(body, headers as Record<string, string>);
  const wanted = createHmac('sha256', secret)
    .update(`${String(headers['x-service-timestamp'])}.${body}`)
    .digest('hex');
  // Each is one value: a receiver that compares it as it is needs to know nothing else.
  expect([headers['x-service-signature'], headers['x-service-signature-next']]).toContain(`sha256=${wanted}`);
}

const newPlan = async () =>
  post<{ plan_uid: string }>('/plans', {
    ...{ name: 'Books', price: '0', currency_code: 'EUR', frequency_amount: 1, frequency_unit: 'month' },
    options: { sending_server_option: 'own' },
  }).then(({ plan_uid }) => plan_uid);

test('each event is told once, in exactly the specified form, to whoever verifies it', async () => {
  const receiver = await webhookReceiver();
  const made = new Map<string, Made>();
  for (const event of lifecycleEvents)
    made.set(event, await makeWebhook({ event, url: `${receiver.origin}/${event}?a=1` }));
  const [first, second] = [await newPlan(), await newPlan()];
  const planIds = await queryRows<{ id: bigint }>(
    db,
    sql`SELECT id FROM plan WHERE uid IN (${first}, ${second}) ORDER BY id`,
  );
  const [firstId, secondId] = planIds.map(({ id }) => String(id));

  const { customerId } = await app.newTenant({ hasPlan: false });
  const [{ uid } = { uid: '' }] = await queryRows<{ uid: string }>(
    db,
    sql`SELECT uid FROM customer WHERE id = ${customerId}`,
  );
  const id = Number(customerId);
  const { subscription_uid: subscription } = await post<{ subscription_uid: string }>('/subscriptions', {
    ...{ customer_uid: uid, plan_uid: first },
  });
  await post(`/customers/${uid}/change-plan/${second}`);
  await post(`/subscriptions/${subscription}/cancel`);
  await post(`/subscriptions/${subscription}/terminate`);
  const calls = [1n, 2n].map((personId) => ({
    automationId: 12n,
    automationUid: '6204d1f8a9c3b',
    node: 'ask',
    personId,
  }));
  await app.ctx.database.transaction((tx) => fireAutomationWebhook(tx, calls));

  // Several requests are under way at once, and may overtake each other: in the order in which it happened.
  const bodies = () =>
    lifecycleEvents.map((event) =>
      receiver
        .at(`/${event}?a=1`)
        .map((hook): { sequence: number } => JSON.parse(hook.body))
        .toSorted((a, b) => a.sequence - b.sequence),
    );
  await expect.poll(() => bodies().map((of) => of.length), WAIT).toEqual([1, 1, 1, 1, 1, 2]);
  const plan = { customer_id: id, plan_id: firstId };
  expect(bodies()).toMatchObject([
    [{ event: 'new_customer', customer_id: id }],
    [{ event: 'new_subscription', ...plan }],
    [{ event: 'change_plan', customer_id: id, old_plan_id: firstId, new_plan_id: secondId }],
    [{ event: 'cancel_subscription', customer_id: id, plan_id: secondId }],
    [{ event: 'terminate_subscription', customer_id: id, plan_id: secondId }],
    [
      {
        event: 'automation_webhook',
        automation_id: 12,
        automation_uid: '6204d1f8a9c3b',
        node: 'ask',
        subscriber_uid: subscriberUid(1n),
      },
      { event: 'automation_webhook', automation_id: 12, subscriber_uid: subscriberUid(2n) },
    ],
  ]);
  // Of one customer, in the order in which it happened.
  const sequences = bodies().flatMap(([body], no) => (no < 5 ? [Number(body?.sequence)] : []));
  expect(sequences).toEqual([...new Set(sequences)].toSorted((a, b) => a - b));
  for (const event of lifecycleEvents) {
    const hooks = receiver.at(`/${event}?a=1`);
    for (const hook of hooks) {
      expect(WEBHOOK_EVENTS[event].shape.parse(JSON.parse(hook.body))).toBeTruthy();
      expect(hook).toMatchObject({
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'x-service-event': event,
          'webhook-id': hook.headers['x-service-delivery'],
        },
      });
      verifies(hook, made.get(event)?.secret ?? '');
    }
  }
  const log = async () => (await Promise.all([...made.values()].map((one) => logOf(one, 'delivered')))).flat();
  await expect.poll(async () => (await log()).length, WAIT).toBe(7);
  const ids = (all: readonly string[]) => all.toSorted();
  expect(ids((await log()).map((one) => one.uid))).toEqual(
    ids(receiver.received.map(({ headers }) => String(headers['x-service-delivery']))),
  );
  for (const [, one] of made) await post(`/webhooks/${one.webhook_uid}`, {}, 'DELETE');
});

test('a failure is tried again with the same id and body, not before the receiver has asked for it, until the retries are used up', async () => {
  const answers = [
    { status: 500, body: 'x'.repeat(9_000) },
    { status: 302, headers: { Location: '/elsewhere' } },
    { status: 503, headers: { 'Retry-After': '3' } },
    { status: 200, body: 'thanks' },
  ];
  const receiver = await webhookReceiver(({ path }, before) =>
    path === '/well' ? (answers[before] ?? { status: 200 }) : { status: 500 },
  );
  const values = { event: 'new_customer', retry_after_seconds: 1, retry_seconds_max: 1 };
  const body_template = '{"customer": {{ customer_id }}, "at": {{ fired_at | json }}}';
  const headers = { 'Content-Type': 'application/vnd.books+json', 'X-Key': 'open sesame' };
  const well = await makeWebhook({
    ...values,
    url: `${receiver.origin}/well`,
    retry_times: 3,
    body_template,
    headers,
    method: 'PUT',
  });
  const never = await makeWebhook({ ...values, url: `${receiver.origin}/never`, retry_times: 1 });
  const { customerId } = await app.newTenant({ hasPlan: false });

  await expect.poll(() => logOf(well, 'delivered'), WAIT).toHaveLength(1);
  await expect.poll(() => logOf(never, 'failed'), WAIT).toHaveLength(1);
  const hooks = receiver.at('/well');
  expect(new Set(hooks.map((hook) => hook.headers['x-service-delivery']))).toHaveProperty('size', 1);
  expect(new Set(hooks.map((hook) => hook.body))).toHaveProperty('size', 1);
  for (const hook of hooks) verifies(hook, well.secret);
  expect(hooks).toHaveLength(4);
  expect(hooks[0]).toMatchObject({
    method: 'PUT',
    headers: { 'content-type': headers['Content-Type'], 'x-key': 'open sesame' },
  });
  expect(JSON.parse(hooks[0]?.body ?? '')).toEqual({ customer: Number(customerId), at: expect.stringContaining('T') });
  const seconds = hooks.map((hook) => Number(hook.headers['x-service-timestamp']));
  expect((seconds[3] ?? 0) - (seconds[2] ?? 0)).toBeGreaterThanOrEqual(3);
  // Signed anew for each attempt, which is at least a second later.
  expect(new Set(seconds)).toHaveProperty('size', 4);
  const [logged] = await logOf(well);
  expect(logged).toMatchObject({ uid: hooks[0]?.headers['x-service-delivery'], body: hooks[0]?.body });
  expect(logged?.attempts.map(({ status }) => status)).toEqual([500, 302, 503, 200]);
  expect(logged?.attempts[0]?.answer).toHaveLength(4_096);
  expect(logged?.attempts[1]?.error).toContain('Redirects are not followed');
  expect(logged?.attempts[3]).toMatchObject({ error: null, answer: 'thanks' });
  expect(logged?.attempts[0]?.request.headers).toMatchObject({
    'X-Key': '(hidden)',
    'X-Service-Event': 'new_customer',
  });
  expect(receiver.at('/never')).toHaveLength(2);
  expect(receiver.at('/elsewhere')).toHaveLength(0);
  for (const one of [well, never]) await post(`/webhooks/${one.webhook_uid}`, {}, 'DELETE');
});

test('410 pauses: the administrators are told, what happens is kept, and is sent when somebody asks for it', async () => {
  let isGone = true;
  const receiver = await webhookReceiver(() => ({ status: isGone ? 410 : 204 }));
  const made = await makeWebhook({ event: 'new_customer', url: `${receiver.origin}/`, retry_after_seconds: 1 });
  const show = async () =>
    (await app.rest(`/webhooks/${made.webhook_uid}`, { token: app.adminToken })).body as {
      webhook: Record<string, unknown>;
    };
  await app.newTenant({ hasPlan: false });
  await expect.poll(show, WAIT).toMatchObject({ webhook: { status: 'paused', pause_reason: 'gone' } });
  await app.newTenant({ hasPlan: false });
  await expect.poll(() => logOf(made, 'parked'), WAIT).toHaveLength(2);
  expect(receiver.received).toHaveLength(1);
  const mails = () =>
    queryRows(db, sql`SELECT 1 FROM hot.message WHERE content ->> 'subject' = 'The webhook "Books" was paused'`);
  await expect.poll(async () => (await mails()).length, WAIT).toBeGreaterThan(0);

  const refused = await app.rest(`/webhooks/${made.webhook_uid}/deliveries/resend`, {
    method: 'POST',
    token: app.adminToken,
  });
  expect(refused.status).toBe(422);
  isGone = false;
  await post(`/webhooks/${made.webhook_uid}`, { status: 'active' }, 'PATCH');
  // Those of a time, and the others.
  await db.execute(sql`
    UPDATE hot.webhook_delivery SET created_at = created_at - interval '2 hours'
     WHERE id = (SELECT min(d.id) FROM hot.webhook_delivery d JOIN webhook w ON w.id = d.webhook_id WHERE w.uid = ${made.webhook_uid})`);
  const anHourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 19).replace('T', ' ');
  for (const [no, range] of [{ to: anHourAgo }, { from: anHourAgo }].entries()) {
    const resent = await post(`/webhooks/${made.webhook_uid}/deliveries/resend`, range);
    expect(resent).toMatchObject({ count: 1, are_more: false });
    await expect.poll(() => logOf(made, 'delivered'), WAIT).toHaveLength(no + 1);
  }
  const [newest] = await logOf(made);
  await post(`/webhooks/${made.webhook_uid}/deliveries/${newest?.uid ?? ''}/resend`);
  await expect.poll(() => receiver.received.length, WAIT).toBe(4);
  expect(receiver.received[3]).toMatchObject({ body: newest?.body, headers: { 'x-service-delivery': newest?.uid } });
  await post(`/webhooks/${made.webhook_uid}`, {}, 'DELETE');
});

test('nothing but failures for five days pauses, one success in between does not', async () => {
  const receiver = await webhookReceiver(({ path }) => ({ status: path === '/bad' ? 500 : 200 }));
  const values = { event: 'new_customer', retry_times: 0 };
  const bad = await makeWebhook({ ...values, name: 'Failing', url: `${receiver.origin}/bad` });
  const good = await makeWebhook({ ...values, url: `${receiver.origin}/good` });
  await db.execute(
    sql`UPDATE webhook SET failing_since = now() - interval '121 hours', last_failed_at = now() - interval '1 hour' WHERE uid IN (${bad.webhook_uid}, ${good.webhook_uid})`,
  );
  await app.newTenant({ hasPlan: false });
  const state = (uid: string) =>
    queryRows(
      db,
      sql`SELECT status, pause_reason AS reason, failing_since IS NULL AS "isWell" FROM webhook WHERE uid = ${uid}`,
    );
  await expect.poll(() => state(bad.webhook_uid), WAIT).toMatchObject([{ status: 'paused', reason: 'failing' }]);
  await expect.poll(() => state(good.webhook_uid), WAIT).toEqual([{ status: 'active', reason: null, isWell: true }]);
  const notices = () =>
    queryRows(db, sql`SELECT 1 FROM hot.message WHERE content ->> 'subject' = 'The webhook "Failing" was paused'`);
  await expect.poll(async () => (await notices()).length, WAIT).toBeGreaterThan(0);
  for (const one of [bad, good]) await post(`/webhooks/${one.webhook_uid}`, {}, 'DELETE');
});

test('a secret that cannot be read is tried again, one before it that cannot be read is left out', async () => {
  const receiver = await webhookReceiver();
  const made = await makeWebhook({
    ...{ event: 'new_customer', url: `${receiver.origin}/`, retry_times: 50 },
    ...{ retry_after_seconds: 1, retry_seconds_max: 1 },
  });
  await db.execute(
    sql`UPDATE webhook SET sealed_previous_secret = sealed_secret, sealed_secret = '\\x00'::bytea WHERE uid = ${made.webhook_uid}`,
  );
  await app.newTenant({ hasPlan: false });
  await expect.poll(async () => (await logOf(made))[0]?.attempts[0]?.error, WAIT).toContain('cannot be decrypted');
  await db.execute(
    sql`UPDATE webhook SET sealed_secret = sealed_previous_secret, sealed_previous_secret = '\\x00'::bytea,
               previous_secret_ends_at = now() + interval '1 day' WHERE uid = ${made.webhook_uid}`,
  );
  await expect.poll(() => logOf(made, 'delivered'), WAIT).toHaveLength(1);
  const [hook] = receiver.received;
  if (hook) verifies(hook, made.secret);
  await post(`/webhooks/${made.webhook_uid}`, {}, 'DELETE');
});

test('after a rotation both secrets verify: the one before as if nothing had happened, until its time is over', async () => {
  const receiver = await webhookReceiver(() => ({ status: 401, body: 'who are you?' }));
  const made = await makeWebhook({ event: 'change_plan', url: `${receiver.origin}/` });
  const { secret } = await post<Made>(`/webhooks/${made.webhook_uid}/secret`, { previous_secret_hours: 48 });
  expect(secret).not.toBe(made.secret);
  const tested = await post(`/webhooks/${made.webhook_uid}/test`);
  expect(tested).toMatchObject({
    message: 'The test failed',
    delivery: { state: 'failed', is_test: true, attempts: [{ status: 401, answer: 'who are you?' }] },
  });
  const [hook] = receiver.received;
  expect(hook).toMatchObject({ headers: { 'x-service-test': 'true' } });
  if (!hook) return;
  for (const one of [secret, made.secret]) verifies(hook, one);
  expect(() => verifies(hook, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA')).toThrow();
  const { 'x-service-signature-next': _next, ...asBefore } = hook.headers;
  verifies({ ...hook, headers: asBefore }, made.secret);
  expect(JSON.parse(hook.body)).toEqual(WEBHOOK_EVENTS.change_plan.example);

  const { secret: third } = await post<Made>(`/webhooks/${made.webhook_uid}/secret`, { previous_secret_hours: 0 });
  await post(`/webhooks/${made.webhook_uid}/test`);
  const last = receiver.received[1];
  expect(last?.headers).not.toHaveProperty('x-service-signature-next');
  if (last) verifies(last, third);
  expect(() => last && verifies(last, secret)).toThrow();
  const tooLong = { method: 'POST', token: app.adminToken, body: { previous_secret_hours: 169 } };
  expect(await app.rest(`/webhooks/${made.webhook_uid}/secret`, tooLong)).toMatchObject({
    status: 422,
    body: { errors: { previous_secret_hours: [expect.any(String)] } },
  });
  // Only administrators see any of it.
  const { token } = await app.newTenant();
  expect((await app.rest(`/webhooks/${made.webhook_uid}`, { token })).status).toBe(403);
  await post(`/webhooks/${made.webhook_uid}`, {}, 'DELETE');
});

test('values of headers are not shown, and what was shown may be sent back', async () => {
  const receiver = await webhookReceiver();
  const headers = { Authorization: 'Bearer canary-header', 'Content-Type': 'text/plain', 'X-Env': 'canary-env' };
  const made = await makeWebhook({ event: 'change_plan', url: `${receiver.origin}/`, headers });
  const path = `/webhooks/${made.webhook_uid}`;
  const shown = { Authorization: '(hidden)', 'Content-Type': 'text/plain', 'X-Env': '(hidden)' };
  expect(made).toMatchObject({ webhook: { headers: shown } });
  const back = { authorization: '(hidden)', 'X-Env': 'other', 'Content-Type': 'text/plain' };
  expect(await post(path, { headers: back }, 'PATCH')).toMatchObject({
    webhook: { headers: { authorization: '(hidden)', 'X-Env': '(hidden)' } },
  });
  await post(`${path}/test`);
  expect(receiver.received).toMatchObject([
    { headers: { authorization: 'Bearer canary-header', 'x-env': 'other', 'content-type': 'text/plain' } },
  ]);
  const answers = [
    await app.rest('/webhooks', { token: app.adminToken }),
    await app.rest(path, { token: app.adminToken }),
    await app.rest(`${path}/deliveries`, { token: app.adminToken }),
  ];
  expect(JSON.stringify(answers)).not.toContain('canary');
  const wrong = { method: 'PATCH', token: app.adminToken, body: { headers: { 'X-New': '(hidden)' } } };
  expect(await app.rest(path, wrong)).toMatchObject({
    status: 422,
    body: { errors: { 'headers.X-New': [expect.stringContaining('give its value')] } },
  });
  await post(path, {}, 'DELETE');
});
