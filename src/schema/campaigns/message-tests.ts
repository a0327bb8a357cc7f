/** Tests of a campaign's message to a few addresses. */
import { subscriberRefInput } from '../../domain/audience/subscriber.ts';
import { sendTestCampaign, sendTestInput } from '../../domain/campaigns/send-test-campaign.ts';
import { TEST_ADDRESSES_MAX, TESTS_PER_HOUR_MAX } from '../../domain/campaigns/test-addresses.ts';
import { latestTestsOfEach, testReply, type TestMessage } from '../../domain/delivery/campaigns/test-message-store.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { Campaign } from './campaign.ts';

const reading = { scope: 'campaigns:read' } as const;
const writing = { scope: 'campaigns:write' } as const;

/** The latest tests of a campaign that are shown: five times the most of one request. */
const TESTS_SHOWN = 50;

const TestMessageState = builder.enumType('TestMessageState', {
  description: 'A test that stays `sending` may have been delivered: the server did not answer.',
  values: {
    queued: { description: 'Waits for a worker.' },
    sending: { description: 'Was handed over; there is no answer yet.' },
    sent: { description: 'A server took it.' },
    failed: { description: 'It was refused, or could not be composed.' },
    suppressed: { description: 'The address must get no mail.' },
  },
});

const TestMessageType = builder.objectRef<TestMessage>('TestMessage').implement({
  description: 'A test of a message to one address. It is in no ledger and no statistics.',
  authScopes: reading,
  fields: (t) => ({
    email: t.exposeString('email'),
    state: t.expose('state', { type: TestMessageState }),
    reply: t.string({
      nullable: true,
      description: 'What the server said, or why it was not sent.',
      resolve: (test) => testReply(test),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
  }),
});

const readTests = (ctx: GraphqlContext, campaignIds: readonly bigint[]) =>
  latestTestsOfEach(ctx.db, { customerId: viewerOf(ctx).customerId, campaignIds }, TESTS_SHOWN);

builder.prismaObjectField(Campaign, 'testMessages', (t) =>
  t.field({
    type: [TestMessageType],
    description: `The latest ${TESTS_SHOWN} tests of the last 30 days, the newest first.`,
    extensions: { listLength: TESTS_SHOWN },
    select: { id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readTests).load(id),
  }),
);

const QueuedTests = builder.objectRef<{ uid: string; messages: readonly TestMessage[] }>('QueuedTests').implement({
  authScopes: writing,
  fields: (t) => ({
    uid: t.exposeString('uid', { description: 'The uid of the campaign.' }),
    messages: t.field({ type: [TestMessageType], resolve: ({ messages }) => [...messages] }),
  }),
});

builder.mutationField('sendTestCampaign', (t) =>
  t.fieldWithInput({
    type: QueuedTests,
    description:
      `Sends the message to up to ${TEST_ADDRESSES_MAX} addresses as recipients would get it, with "[Test]" before the subject; ` +
      `its links belong to nobody. Once per request, ${TESTS_PER_HOUR_MAX} addresses an hour. Suppressed addresses are refused.`,
    authScopes: writing,
    executionsMax: 1,
    typeOptions: { checks: { ...sendTestInput.shape, subscriber: subscriberRefInput } },
    input: {
      uid: t.input.string({ required: true, description: 'The uid of the campaign.' }),
      emails: t.input.stringList({ required: true }),
      subscriber: t.input.string({
        description:
          "Whose values it is filled with: of somebody on the campaign's list (needs the scope `subscribers:read`, too). Absent: of each address itself, when it is on the list.",
      }),
      markSubject: t.input.boolean({ description: 'False: the subject as it is.' }),
    },
    resolve: (_root, { input }, ctx) => sendTestCampaign(ctx, input),
  }),
);
