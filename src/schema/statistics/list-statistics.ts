/** A list's figures in GraphQL. */
import type { ListStatistics as Figures } from '../../domain/statistics/list-statistics.ts';
import { builder } from '../builder.ts';

export const ListStatistics = builder.objectRef<Figures>('ListStatistics').implement({
  description: 'The figures of a list. Rates are fractions 0..1, rounded to four places.',
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    subscriberCount: t.exposeInt('subscriberCount', { description: 'Everybody on the list, whatever the status.' }),
    subscribedCount: t.exposeInt('subscribedCount'),
    unsubscribeCount: t.exposeInt('unsubscribeCount'),
    unconfirmedCount: t.exposeInt('unconfirmedCount', { description: 'Unconfirmed and pending together.' }),
    subscribeRate: t.exposeFloat('subscribeRate'),
    unsubscribeRate: t.exposeFloat('unsubscribeRate'),
    openUniqRate: t.exposeFloat('openUniqRate', { description: 'First opens per message sent, over all campaigns.' }),
    clickRate: t.exposeFloat('clickRate', { description: 'First clicks per message sent, over all campaigns.' }),
  }),
});
