/** The loop when what it leans on fails: nothing that it holds is lost, and nothing under way is left alone. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { snapshotAudience } from '../../../src/domain/campaigns/snapshot-audience.ts';
import { startCampaign } from '../../../src/domain/campaigns/start-campaign.ts';
import { findRecipients } from '../../../src/domain/delivery/campaigns/lease-recipients.ts';
import { createActiveCampaigns } from '../../../src/domain/delivery/campaigns/active-campaign.ts';
import { runSendingLoop } from '../../../src/domain/delivery/campaigns/sending-loop.ts';
import type { SendingChannel } from '../../../src/domain/sending/driver-pool.ts';
import { JobLine } from '../../../src/domain/sending/routing/job-line.ts';
import { FairPermits } from '../../../src/domain/sending/fair-permits.ts';
import { judgeReply } from '../../../src/domain/sending/replies/judge-reply.ts';
import { balanceOf, campaignWorld } from '../../support/campaign-world.ts';
import { createTestContext } from '../../support/test-context.ts';

const ctx = await createTestContext();
const CAPACITY = 4;

describe('a gate that cannot be asked', () => {
  it('gives its permits back, and the loop ends when what is under way has', async () => {
    const world = await campaignWorld(ctx, { recipients: 12, smtpPort: 9 });
    const customerId = world.ctx.viewer?.customerId ?? 0n;
    await startCampaign(world.ctx, world.campaignUid);
    await snapshotAudience(world.ctx, { customerId, campaignId: world.campaignId }, new AbortController().signal);
    const inHand = await createActiveCampaigns().take(ctx, { customerId, campaignId: world.campaignId });
    if (!inHand) throw new Error('The campaign is not being sent.');
    const holder = { owner: crypto.randomUUID(), leaseSeconds: 45 };
    const range = { ...inHand.campaign.key, fromId: 0n, toId: 2n ** 62n };
    const claimed = await findRecipients(ctx.db, range, holder);
    let asked = 0;
    let underWay = 0;
    const permits = new FairPermits(CAPACITY);
    const channel = {
      ...{
        serverId: 1n,
        serverUid: 'x',
        serverName: 'x',
        keySeconds: undefined,
        signsDkim: false,
        permits,
        senders: { prepare: () => undefined },
        line: new JobLine(),
      },
      driver: {
        capacity: CAPACITY,
        send: async () => {
          underWay += 1;
          await sleep(150);
          underWay -= 1;
          return { reply: '250 ok', runtimeMessageId: 'x' };
        },
        test: async () => ({ ok: true as const }),
        close: async () => undefined,
      },
      gate: {
        denial: async () => undefined,
        // Two may go; then the database is away.
        admit: async (_ctx, _customer, waiting) => {
          asked += 1;
          if (asked > 1) throw new Error('Connection terminated unexpectedly');
          return { go: waiting.slice(0, 2), later: [], stop: undefined };
        },
        ended: (_ctx, _guest, { error, attempts }) => ({ verdict: judgeReply(error, { attempts }), stop: undefined }),
        withdraw: () => undefined,
        judgeOutcome: (_ctx, _domain, error) => judgeReply(error, { attempts: 0 }),
      },
    } satisfies SendingChannel;
    const recorder = inHand.campaign.recorder(ctx, { serverId: 1n, holder });
    const { signal } = new AbortController();
    const input = {
      ctx,
      ...inHand,
      channel,
      recorder,
      claimed,
      sendsMax: Infinity,
      announce: () => undefined,
    };
    await expect(runSendingLoop({ ...input, abortSignal: signal })).rejects.toThrow('Connection terminated');
    expect(underWay).toBe(0);
    expect(permits.of(customerId).tryTake(CAPACITY)).toBe(CAPACITY);
    expect(await balanceOf(world)).toMatchObject({ sent: 2, queued: 10, sending: 0 });
  });
});
