/** A driver with a fixed number of connections keeps them while processes come and go: only the messages at once are shared. */
import { afterAll, expect, it } from 'vitest';
import { connectSmtp } from '../../../plugins/mailwright/smtp/smtp-driver.ts';
import { validateSettings } from '../../../plugins/mailwright/smtp/settings.ts';
import { sql } from '../../../src/db/database.ts';
import { leaveProcess } from '../../../src/domain/installation/process-store.ts';
import { createDriverPool, type SendingChannel } from '../../../src/domain/sending/driver-pool.ts';
import { PROCESS_ID } from '../../../src/lib/process-id.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { scriptedSmtpServer } from '../../support/scripted-smtp-server.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const CONNECTIONS = 6;
const WINDOW = 2;
const ctx = await createTestContext();
withDriver(ctx.hooks, {
  ...{
    type: 'fixed-smtp',
    name: 'fixed-smtp',
    description: '',
    secretKeys: [],
    configKeys: ['host', 'port', 'window'],
  },
  validate: validateSettings,
  connect: connectSmtp,
});
const pool = createDriverPool(ctx.hooks);
afterAll(() => pool.close());

const enter = (id: string) =>
  ctx.db.execute(
    sql`INSERT INTO hot.process (id, host, pid, roles, version, seen_since, memory_mb, is_working)
        VALUES (${id}::uuid, 'here', 1, '{worker}', '1', now() - interval '1 minute', 1, true)`,
  );

async function serverAt(port: number): Promise<bigint> {
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort: port, server: { connections: CONNECTIONS } });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const settings = JSON.stringify({ host: '127.0.0.1', port, encryption: 'none', window: WINDOW });
  await ctx.db.execute(
    sql`UPDATE sending_server SET type = 'fixed-smtp', settings = ${settings}::jsonb WHERE customer_id = ${customerId}`,
  );
  return customerId;
}

let sent = 0;
/** Sends so many, as sending loops do; returns the most there were at once. */
async function send({ driver, permits }: SendingChannel, customerId: bigint, count: number): Promise<number> {
  const mine = permits.of(customerId);
  const all: Promise<void>[] = [];
  let most = 0;
  while (all.length < count) {
    const taken = mine.tryTake(count - all.length);
    most = Math.max(most, permits.inFlight);
    for (let index = 0; index < taken; index++) all.push(sendOne(driver).then(() => mine.give(1)));
    if (all.length < count) await mine.whenFree();
  }
  await Promise.all(all);
  return most;
}

async function sendOne(driver: SendingChannel['driver']): Promise<void> {
  const name = `p${(sent += 1)}`;
  await driver.send({
    envelope: { from: 'bounce@house.test', to: `${name}@there.test` },
    content: Buffer.from('Subject: Hello\r\n\r\nHello\r\n'),
    messageId: `<${name}@house.test>`,
    idempotencyKey: name,
    needsSmtpUtf8: false,
  });
}

it('gives fewer messages at once while another process shares the number, and closes nothing', async () => {
  await using receiver = await scriptedSmtpServer({
    extensions: ['PIPELINING'],
    write: (reply, { socket }) => void setTimeout(() => socket.write(reply), 2),
  });
  const customerId = await serverAt(receiver.port);
  await ctx.db.execute(sql`DELETE FROM hot.process`);
  await enter(PROCESS_ID);
  const mostNow = async (): Promise<number> => {
    const channel = await pool.channelFor(ctx, customerId);
    if (!channel) throw new Error('There is no channel.');
    return send(channel, customerId, 100);
  };
  expect(await mostNow()).toBe(CONNECTIONS * WINDOW);
  expect(receiver.sessions).toHaveLength(CONNECTIONS);
  const other = crypto.randomUUID();
  await enter(other);
  expect(await mostNow()).toBe((CONNECTIONS * WINDOW) / 2);
  // More processes than connections: each may send something.
  for (let index = 0; index < 20; index++) await enter(crypto.randomUUID());
  expect(await mostNow()).toBe(WINDOW);
  await ctx.db.execute(sql`DELETE FROM hot.process WHERE id NOT IN (${PROCESS_ID}::uuid, ${other}::uuid)`);
  await leaveProcess(ctx.db, other);
  expect(await mostNow()).toBe(CONNECTIONS * WINDOW);
  expect(receiver.sessions).toHaveLength(CONNECTIONS);
  expect(receiver.openSockets()).toBe(CONNECTIONS);
  expect(receiver.accepted).toHaveLength(400);
});
