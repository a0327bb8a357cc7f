/**
 * Sends tests of a campaign's message: composed, signed and handed over like messages to its recipients, with links of subscriber
 * 0. They are in no ledger, counter or credit. Each is sent at most once.
 */
import { randomBytes } from 'node:crypto';
import { SendingError } from '../../plugin-api/index.ts';
import { messageOf } from '../../lib/errors.ts';
import { asciiDomainOf } from '../../lib/mail-domain.ts';
import { emailKey } from '../../lib/text.ts';
import { hasRunningPlan } from '../billing/require-allowed.ts';
import { isSuppressed } from '../audience/suppression-store.ts';
import { faultSentence } from '../content/template-fault.ts';
import type { CompiledMessage } from '../content/message.ts';
import type { Context } from '../context.ts';
import type { DriverPool, SendingChannel } from '../sending/driver-pool.ts';
import { identityFor, type SendingIdentity } from '../sending/identity.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { compileSource } from './campaign-message.ts';
import { readSource, type SourceRow } from './campaign-source-read-model.ts';
import { REPLY_LENGTH_MAX } from './delivery.ts';
import { handOver } from './hand-over.ts';
import { sampleLinks, sampleValues } from './sample-recipient.ts';
import { settleTest, takeTest, type TestMessage, type TestReason } from './test-message-store.ts';

/** So that nobody takes a test for the real message. */
const MARK = '[Test] ';

export interface TestBatch extends CampaignKey {
  readonly testIds: readonly bigint[];
}

interface Composer {
  readonly ctx: Context;
  readonly key: CampaignKey;
  readonly row: SourceRow;
  readonly drivers: DriverPool;
  readonly channel: SendingChannel;
  readonly identity: SendingIdentity;
  readonly compiled: Map<boolean, Promise<CompiledMessage>>;
}

type Outcome = Pick<TestMessage, 'state' | 'reason' | 'reply'>;

/** Sends those that were not taken yet. Throws when no server can be used now, unless this is the last try. */
export async function sendTestMessages(
  ctx: Context,
  { testIds, ...key }: TestBatch,
  { drivers, isLastTry }: { drivers: DriverPool; isLastTry: boolean },
): Promise<void> {
  const { customerId, campaignId } = key;
  const row = await readSource(ctx.db, key);
  if (!row) return;
  // It was checked when they were queued, and may have ended since.
  if (!(await hasRunningPlan(ctx.db, customerId))) return failAll(ctx, { testIds, ...key }, 'no_plan');
  const channel = await drivers.channelFor(ctx, customerId, campaignId);
  const identity = await identityFor(ctx.db, {
    customerId,
    fromEmail: row.from_email,
    signDkim: row.sign_dkim,
    secret: ctx.installation.secret,
  });
  if (!channel && !isLastTry) throw new Error('There is no sending server for a test at present.');
  const compiled: Composer['compiled'] = new Map();
  for (const id of testIds) {
    const test = await takeTest(ctx.db, customerId, id);
    if (!test) continue;
    const outcome: Outcome = channel
      ? await attempt({ ctx, key, row, drivers, channel, identity, compiled }, test)
      : { state: 'failed', reason: 'no_server', reply: null };
    const waits = outcome.state === 'queued' && !isLastTry;
    await settleTest(
      ctx.db,
      { customerId, id },
      waits || outcome.state !== 'queued' ? outcome : { ...outcome, state: 'failed' },
    );
    if (waits) throw new Error(`A test could not be sent at present: ${outcome.reply}`);
  }
}

async function failAll(ctx: Context, { customerId, testIds }: TestBatch, reason: TestReason): Promise<void> {
  for (const id of testIds) {
    const test = await takeTest(ctx.db, customerId, id);
    if (test) await settleTest(ctx.db, { customerId, id }, { state: 'failed', reason, reply: null });
  }
}

type DueTest = NonNullable<Awaited<ReturnType<typeof takeTest>>>;

async function attempt(composer: Composer, test: DueTest): Promise<Outcome> {
  const { ctx, drivers, key, row, channel, identity } = composer;
  if (await isSuppressed(ctx.db, { customerId: key.customerId, emailKey: emailKey(test.email) }))
    return { state: 'suppressed', reason: 'suppressed', reply: null };
  let message;
  try {
    message = await compose(composer, test);
  } catch (error) {
    return { state: 'failed', reason: 'not_composed', reply: faultSentence(error).slice(0, REPLY_LENGTH_MAX) };
  }
  try {
    const { reply } = await handOver(ctx, message, { drivers, channel, ...key, identity, fromEmail: row.from_email });
    return { state: 'sent', reason: null, reply: reply.slice(0, REPLY_LENGTH_MAX) };
  } catch (error) {
    const reply = messageOf(error).slice(0, REPLY_LENGTH_MAX);
    // Only certainly unaccepted tests are sent again: a missing test is better than a double one.
    const isFree = error instanceof SendingError && (error.kind === 'unavailable' || error.kind === 'deferred');
    return { state: isFree ? 'queued' : 'failed', reason: null, reply };
  }
}

async function compose({ ctx, key, row, identity, compiled }: Composer, test: DueTest) {
  const { isMarked, email, subscriberId } = test;
  const mark = isMarked ? MARK : '';
  const compiling = compiled.get(isMarked) ?? compileSource(ctx, { key, row, files: 'whole', mark });
  compiled.set(isMarked, compiling);
  const message = await compiling;
  const campaign = { ...key, listId: row.list_id };
  const { uid, fields, pluginValues } = await sampleValues(ctx, { sample: campaign, message }, subscriberId);
  return message.fill({
    ...{
      email,
      uid,
      fields,
      pluginValues,
      messageId: `<${randomBytes(16).toString('hex')}@${asciiDomainOf(row.from_email)}>`,
    },
    links: sampleLinks(ctx.installation, campaign, identity.trackingBaseUrl ?? undefined),
  });
}
