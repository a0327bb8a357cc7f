/**
 * Tests of a campaign's message as messages of the queue: composed and signed like messages to its recipients, with links of
 * subscriber 0. They count for no credit, and each is handed over at most once.
 */
import { z } from 'zod';
import { asciiDomainOf } from '../../../lib/mail-domain.ts';
import type { Queryable } from '../../../db/database.ts';
import type { Context } from '../../context.ts';
import { enqueueMessages } from '../../messages/enqueue-messages.ts';
import { PRIORITIES } from '../../messages/message.ts';
import { identityFor } from '../../sending/identity.ts';
import { SOURCE_KINDS, type DeliveryKey } from '../../source-key.ts';
import type { CampaignKey } from '../../statistics/campaign-key.ts';
import { deliveryMessageId } from '../../tracking/delivery-message-id.ts';
import { compileSource } from './campaign-message.ts';
import { readSource } from './campaign-source-read-model.ts';
import { withReturnPath, type ComposedMessage } from '../messages/compose-transactional.ts';
import { sampleLinks, sampleValues } from './sample-recipient.ts';
import { testCause, waitingTests } from './test-message-store.ts';

/** So that nobody takes a test for the real message. */
export const TEST_MARK = '[Test] ';

const testContent = z.object({ isMarked: z.boolean(), subscriberId: z.coerce.bigint().nullable() });

/** Enqueues these tests of the campaign, each once. */
export async function enqueueTestMessages(
  db: Queryable,
  { testIds, ...campaign }: CampaignKey & { readonly testIds: readonly bigint[] },
): Promise<void> {
  const { customerId, campaignId } = campaign;
  const source = { customerId, sourceKind: SOURCE_KINDS.test, sourceId: campaignId };
  const tests = await waitingTests(db, customerId, testIds);
  await enqueueMessages(
    db,
    tests.map(({ id, email, isMarked, subscriberId }) => ({
      source,
      to: { email },
      kind: 'optional',
      purpose: 'test',
      priority: PRIORITIES.test,
      cause: testCause(id),
      content: { isMarked, subscriberId: subscriberId === null ? null : String(subscriberId) },
    })),
  );
}

export interface TestToCompose {
  readonly key: DeliveryKey;
  readonly email: string;
  readonly content: unknown;
}

/** Undefined when the campaign is gone. Throws what composing throws. */
export async function composeTestMessage(
  ctx: Context,
  { key, email, content }: TestToCompose,
): Promise<ComposedMessage | undefined> {
  const { customerId, sourceId: campaignId } = key;
  const row = await readSource(ctx.db, { customerId, campaignId });
  if (!row) return undefined;
  const { isMarked, subscriberId } = testContent.parse(content);
  const identity = await identityFor(ctx.db, {
    customerId,
    fromEmail: row.from_email,
    signDkim: row.sign_dkim,
    secret: ctx.installation.secret,
  });
  const mark = isMarked ? TEST_MARK : '';
  const message = await compileSource(ctx, { key: { customerId, campaignId }, row, files: 'whole', mark });
  const campaign = { customerId, campaignId, listId: row.list_id };
  const { uid, fields, pluginValues } = await sampleValues(ctx, { sample: campaign, message }, subscriberId);
  const filled = await message.fill({
    ...{ email, uid, fields, pluginValues },
    messageId: deliveryMessageId(ctx.installation, key, asciiDomainOf(row.from_email)),
    links: sampleLinks(ctx.installation, campaign, identity.trackingBaseUrl ?? undefined),
  });
  return { filled: withReturnPath(ctx, { filled, identity, key }), identity, fromEmail: row.from_email };
}
