/** Previews of a campaign's message, and tests to a few addresses. */
import { previewCampaign, type CampaignPreview } from '../../domain/campaigns/preview-campaign.ts';
import { sendTestCampaign, TEST_ADDRESSES_MAX, TESTS_PER_HOUR_MAX } from '../../domain/campaigns/send-test-campaign.ts';
import type { TrackedLink } from '../../domain/content/message.ts';
import { latestTestsOfEach, testReply, type TestMessage } from '../../domain/delivery/test-message-store.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { Campaign } from './campaign.ts';

const reading = { scope: 'campaigns:read' } as const;
const writing = { scope: 'campaigns:write' } as const;

/** The latest tests of a campaign that are shown: five times the most of one request. */
const TESTS_SHOWN = 50;

const MessageHeader = builder.objectRef<CampaignPreview['headers'][number]>('MessageHeader').implement({
  authScopes: reading,
  fields: (t) => ({ name: t.exposeString('name'), value: t.exposeString('value', { description: 'On one line.' }) }),
});

const MessageLink = builder.objectRef<TrackedLink>('MessageLink').implement({
  authScopes: reading,
  fields: (t) => ({
    no: t.exposeInt('no'),
    url: t.exposeString('url', { description: 'As its author wrote it, merge tags unfilled.' }),
  }),
});

const CampaignPreviewType = builder.objectRef<CampaignPreview>('CampaignPreview').implement({
  description: 'The message as a person would get it. Its links belong to nobody, so clicks on them are not counted.',
  authScopes: reading,
  fields: (t) => ({
    subject: t.exposeString('subject'),
    html: t.exposeString('html', {
      nullable: true,
      description: 'Without the pixel. It is whatever its author wrote: show it in a sandbox.',
    }),
    plain: t.exposeString('plain'),
    headers: t.field({ type: [MessageHeader], resolve: ({ headers }) => [...headers] }),
    sizeBytes: t.exposeInt('sizeBytes', { description: 'Of the whole message, files included, before signing.' }),
    links: t.field({ type: [MessageLink], description: 'Those that are tracked.', resolve: ({ links }) => [...links] }),
    warnings: t.stringList({
      description: 'Warnings for its author; they do not prevent sending.',
      resolve: ({ warnings }) => [...warnings],
    }),
  }),
});

builder.queryField('campaignPreview', (t) =>
  t.field({
    type: CampaignPreviewType,
    description: 'Composes the message of a campaign in any state, a draft too, and sends nothing.',
    authScopes: reading,
    args: {
      uid: t.arg.string({ required: true, description: 'The uid of the campaign.' }),
      subscriber: t.arg.string({
        description: "Uid, id or address of somebody on the campaign's list; absent: values that stand for none.",
      }),
    },
    resolve: (_root, { uid, subscriber }, ctx) => previewCampaign(ctx, { uid, subscriber }),
  }),
);

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
    input: {
      uid: t.input.string({ required: true, description: 'The uid of the campaign.' }),
      emails: t.input.stringList({ required: true }),
      subscriber: t.input.string({
        description:
          "Whose values it is filled with: uid, id or address of somebody on the campaign's list. Absent: of each address itself, when it is on the list.",
      }),
      markSubject: t.input.boolean({ description: 'False: the subject as it is.' }),
    },
    resolve: (_root, { input }, ctx) => sendTestCampaign(ctx, input),
  }),
);
