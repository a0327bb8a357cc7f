/** A test mail through a server that does not answer in time: whether it may arrive depends on what was asked last. */
import { expect, onTestFinished, test, vi } from 'vitest';
import { queryRows } from '../../../scripts/support/query-rows.ts';
import { sql } from '../../../src/db/database.ts';
import { testSendingServer } from '../../../src/domain/delivery/messages/test-sending-server.ts';
import type { SendingDriver } from '../../../src/plugin-api/index.ts';
import { campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';
import { withDriver } from '../../support/with-hooks.ts';

const ctx = await createTestContext();
const never = () => new Promise<never>(() => undefined);

test.each([
  ['prepareSender', 'Nothing was sent.', 'Check host'],
  ['send', 'The message may arrive.', 'Look into the mailbox'],
] as const)('silent in %s: %s', async (silent, reply, advice) => {
  const asked = vi.fn<(what: string) => void>();
  const answers: Pick<SendingDriver, 'prepareSender' | 'send'> = {
    prepareSender: async () => undefined,
    send: never,
    [silent]: () => (asked(silent), never()),
  };
  withDriver(ctx.hooks, {
    ...{ type: `silent-${silent.toLowerCase()}`, name: 'Silent', description: '', configKeys: [], secretKeys: [] },
    validate: () => ({ ok: true, settings: {} }),
    connect: () => ({ capacity: 1, test: async () => ({ ok: true }), close: async () => undefined, ...answers }),
  });
  const world = await campaignWorld(ctx, { recipients: 1, smtpPort: 9 });
  const customerId = world.ctx.viewer?.customerId ?? 0n;
  const [server] = await queryRows<{ uid: string }>(
    ctx.db,
    sql`UPDATE sending_server SET type = ${`silent-${silent.toLowerCase()}`}, settings = '{}', default_from_email = 'post@house.test'
         WHERE customer_id = ${customerId} RETURNING uid`,
  );
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const testing = testSendingServer(world.ctx, { uid: server?.uid ?? '', to: 'ann@there.test' });
  while (asked.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await vi.advanceTimersByTimeAsync(30_000);
  expect(await testing).toMatchObject({
    ...{ isAccepted: false, reply: expect.stringContaining(reply), advice: expect.stringContaining(advice) },
  });
});
