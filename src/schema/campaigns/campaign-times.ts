/** Where and when a campaign goes: its servers by weight, its quiet hours, the moments of its people. */
import { viewerOf } from '../../domain/context.ts';
import { sendTimesOf, type SendTime } from '../../domain/delivery/send-time-store.ts';
import { builder } from '../builder.ts';
import type { GraphqlContext } from '../context.ts';
import { QuietHoursType, shownQuietHours } from '../lists/quiet-hours.ts';
import { loadBy } from '../loaders/load-by.ts';
import { SendingRouteType, shownRoutes } from '../sending-servers/sending-route.ts';
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
  sendingServers: t.field({
    type: [SendingRouteType],
    description: 'Servers it goes through by weight; empty: as its customer and plan say.',
    select: { routes: true },
    resolve: ({ routes }) => shownRoutes(routes),
  }),
  quietHours: t.field({
    type: QuietHoursType,
    nullable: true,
    description: 'Its own; null: those of its list.',
    select: { quietHours: true },
    resolve: ({ quietHours }) => shownQuietHours(quietHours),
  }),
  deliverInSubscriberTimezone: t.exposeBoolean('deliverInSubscriberTimezone'),
  localTime: t.exposeString('localTime', { nullable: true }),
  sendTimes: t.field({
    type: [DeliverySendTime],
    description: 'The later moments at which people are written to: by their own clocks, and after quiet hours.',
    // The zones of the world have some forty times of day.
    extensions: { listLength: 40 },
    select: { customerId: true, id: true },
    resolve: ({ id }, _args, ctx) => loadBy(ctx, readSendTimes).load(id),
  }),
}));
