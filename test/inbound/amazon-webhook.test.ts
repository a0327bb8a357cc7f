/** Reports of Amazon SES by SNS at `/webhook/amazon-api/{uid}`, through the real queue. */
import { afterAll, expect, test } from 'vitest';
import { sql } from '../../src/db/database.ts';
import { sealSecrets } from '../../src/domain/sending/server-secrets.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { WebhookRequest } from '../../src/plugin-api/index.ts';
import { runWorker } from '../../src/workers/run-worker.ts';
import { bounceTasks } from '../../src/workers/tasks/bounces.ts';
import { queryRows } from '../../scripts/support/query-rows.ts';
import { driverOf } from '../support/drivers-of-plugin.ts';
import { reportedWorld, standingOf, untouched } from '../support/reported-world.ts';
import { bounce, notified, published } from '../support/ses-events.ts';
import { SES_KEY, SES_TOPIC } from '../support/ses-vendor.ts';
import { amazonWith, startSns } from '../support/sns.ts';
import { withDriver } from '../support/with-hooks.ts';
import { startInboundServer } from './inbound-server.ts';

const { ctx, origin } = await startInboundServer();
const worker = await runWorker({ ctx, tasks: bounceTasks, concurrency: 2, crontab: [] });
afterAll(() => worker.stop(1_000));
const sns = startSns();
withDriver(ctx.hooks, driverOf(amazonWith(sns), 'amazon-api'));

async function serverOf(customerId: bigint, topic: string | null = SES_TOPIC): Promise<string> {
  const uid = newUid();
  const settings = {
    region: 'eu-west-1',
    access_key_id: SES_KEY.access_key_id,
    ...(topic && { sns_topic_arn: topic }),
  };
  const sealed = sealSecrets(ctx.installation.secret, uid, { secret_access_key: SES_KEY.secret_access_key });
  await ctx.db.execute(sql`
    INSERT INTO sending_server (customer_id, uid, name, type, settings, sealed_settings, is_system, status)
    VALUES (${customerId}, ${uid}, 'SES', 'amazon-api', ${JSON.stringify(settings)}::jsonb, ${sealed}, false, 'inactive')`);
  return uid;
}

async function post(uid: string, { headers, body }: WebhookRequest): Promise<number> {
  const url = `${origin}/webhook/amazon-api/${uid}`;
  return (await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) })).status;
}

async function untilIdle(): Promise<void> {
  await expect.poll(() => queryRows(ctx.db, sql`SELECT 1 FROM graphile_worker._private_jobs`)).toEqual([]);
}

/** As the message's tag: its Message-ID before the @, with a hyphen for the dot. */
const tagOf = (messageId: string) => ({
  mailwright_id: [messageId.replace(/^<|@.*$/g, '').replaceAll('.', '-')],
});
const gone = bounce('Permanent', 'NoEmail', { status: '5.1.1', diagnosticCode: 'smtp; 550 5.1.1 no such user' });

test('a bounce finds its message by our id when the id of SES was lost, and a repeat has no effect', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  const request = sns.notification(published('Bounce', gone, tagOf(at.messageId)));
  expect([await post(uid, request), await post(uid, request)]).toEqual([200, 200]);
  await untilIdle();
  expect(await standingOf(at)).toMatchObject({ bounces: 1, suppressed: true });
  const [event] = await queryRows(
    ctx.db,
    sql`SELECT type, status_code, message FROM hot.bounce_event WHERE source_id = ${at.campaignId}`,
  );
  expect(event).toMatchObject({ type: 'hard', status_code: '5.1.1', message: 'smtp; 550 5.1.1 no such user' });
});

test('a notification of an identity finds it by the Message-ID among the original headers', async () => {
  const at = await reportedWorld(ctx);
  const headers = [{ name: 'Message-ID', value: at.messageId.startsWith('<') ? at.messageId : `<${at.messageId}>` }];
  expect(await post(await serverOf(at.customerId), sns.notification(notified('Bounce', gone, headers)))).toBe(200);
  await untilIdle();
  expect(await standingOf(at)).toMatchObject({ bounces: 1, suppressed: true });
});

test('foreign topics, forged and altered messages, servers without a topic and other tenants change nothing', async () => {
  const [mine, theirs] = [await reportedWorld(ctx), await reportedWorld(ctx)];
  const uid = await serverOf(mine.customerId);
  const event = published('Bounce', gone, tagOf(mine.messageId));
  const foreign = SES_TOPIC.replace('123456789012', '210987654321');
  const refused = [
    await post(uid, sns.notification(event, { fields: { TopicArn: foreign } })),
    await post(uid, sns.confirmation({ fields: { TopicArn: foreign } })),
    await post(uid, sns.notification(published('Delivery'), { altered: { Message: JSON.stringify(event) } })),
    await post(uid, { ...sns.notification(event), headers: {} }),
    await post(await serverOf(mine.customerId, null), sns.notification(event)),
    await post(await serverOf(mine.customerId, foreign), sns.notification(event)),
  ];
  expect(refused).toEqual([401, 401, 401, 401, 401, 401]);
  expect(sns.fetched.filter((url) => !url.endsWith('.pem'))).toEqual([]);
  // A topic of one's own says nothing about messages of others.
  expect(await post(uid, sns.notification(published('Bounce', gone, tagOf(theirs.messageId))))).toBe(200);
  await untilIdle();
  expect(await standingOf(mine)).toEqual(untouched);
  expect(await standingOf(theirs)).toEqual(untouched);
});

test('the subscription of the topic is confirmed; while SNS cannot be asked it is asked to come again', async () => {
  const at = await reportedWorld(ctx);
  const uid = await serverOf(at.customerId);
  const before = sns.fetched.length;
  sns.answer(503);
  expect([await post(uid, sns.confirmation()), await post(uid, sns.confirmation())]).toEqual([503, 200]);
  expect(sns.fetched.slice(before).every((url) => url.includes('Action=ConfirmSubscription'))).toBe(true);
  expect(sns.fetched.slice(before)).toHaveLength(2);
});
