/** When the recipients of a campaign get it. */
import { viewerOf } from '../../domain/context.ts';
import { sendTimesOf, type SendTime } from '../../domain/delivery/campaigns/send-time-store.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { Campaign } from './campaign.ts';

const DeliverySendTime = builder.objectRef<SendTime>('DeliverySendTime').implement({
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({ at: t.expose('at', { type: 'DateTime' }), people: t.exposeInt('people') }),
});

async function readSendTimes(ctx: GraphqlContext, ids: readonly bigint[]): Promise<SendTime[][]> {
  const sendTimes = await sendTimesOf(ctx.db, viewerOf(ctx).customerId, ids);
  return ids.map((id) => sendTimes.filter(({ campaignId }) => campaignId === id));
}

builder.prismaObjectFields(Campaign, (t) => ({
  sendTimes: t.field({
    type: [DeliverySendTime],
    description: 'The later times at which people get the message: by their own time zones, and after quiet hours.',
    // All time zones together have some forty different local times.
    extensions: { listLength: 40 },
    select: { customerId: true, id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readSendTimes).load(id),
  }),
}));
