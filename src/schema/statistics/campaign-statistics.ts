/** A campaign's figures in GraphQL. */
import { statusReasonsOf } from '../../domain/campaigns/campaign-wait.ts';
import type { CampaignStatistics as Figures } from '../../domain/statistics/campaign-statistics-read-model.ts';
import {
  readCampaignLinks,
  readTopLocations,
  readTopOpeners,
  type LinkStatistics,
  type TopLocation,
  type TopOpener,
} from '../../domain/statistics/campaign-toplists-read-model.ts';
import { builder } from '../builder.ts';
import { CampaignStatus } from '../enums.ts';
import { loadBy } from '../loaders/load-by.ts';

const CampaignLink = builder.objectRef<LinkStatistics>('CampaignLink').implement({
  description: 'A tracked link of a message.',
  fields: (t) => ({
    url: t.exposeString('url', { description: 'As the author wrote it, with its merge tags not replaced.' }),
    clickCount: t.exposeInt('clickCount'),
    uniqClickCount: t.exposeInt('uniqClickCount', { description: 'People who clicked it at least once.' }),
    lastClick: t.expose('lastClick', { type: 'DateTime', nullable: true }),
  }),
});

const OpenLocation = builder.objectRef<TopLocation>('OpenLocation').implement({
  description: 'A place from which opens came; null: not known.',
  fields: (t) => ({
    country: t.exposeString('country', { nullable: true }),
    region: t.exposeString('region', { nullable: true }),
    city: t.exposeString('city', { nullable: true }),
    openCount: t.exposeInt('openCount'),
  }),
});

const FrequentOpener = builder.objectRef<TopOpener>('FrequentOpener').implement({
  description: 'A person and how often the message was displayed to it.',
  fields: (t) => ({
    subscriberUid: t.exposeString('subscriberUid'),
    email: t.exposeString('email'),
    openCount: t.exposeInt('openCount'),
  }),
});

// The loader's key is the parent object: batched within a page, and read again for every event of a subscription.
export const CampaignStatistics = builder.objectRef<Figures>('CampaignStatistics').implement({
  description: 'The figures of a campaign. Rates are fractions 0..1, rounded to four places.',
  authScopes: { scope: 'campaigns:read' },
  fields: (t) => ({
    status: t.expose('status', { type: CampaignStatus, nullable: true, description: 'The state of the campaign.' }),
    statusReason: t.string({
      nullable: true,
      description: 'The campaign’s `statusReason`: for example what it waits for, and until when.',
      resolve: (figures, _args, ctx) => loadBy(ctx, statusReasonsOf).load(figures),
    }),
    subscriberCount: t.exposeInt('subscriberCount', { description: 'The number of recipients in the audience.' }),
    deliveredCount: t.exposeInt('deliveredCount', {
      description: 'Messages that a receiving server accepted and that have not bounced.',
    }),
    deliveredRate: t.exposeFloat('deliveredRate'),
    openCount: t.exposeInt('openCount', {
      description: 'All opens: `humanOpenCount` + `machineOpenCount` + `impliedOpenCount`, at every moment.',
    }),
    uniqOpenCount: t.exposeInt('uniqOpenCount', {
      description: 'People who opened at least once, or clicked, which proves it.',
    }),
    uniqOpenRate: t.exposeFloat('uniqOpenRate', { description: 'As a fraction of the delivered messages.' }),
    lastOpen: t.expose('lastOpen', { type: 'DateTime', nullable: true }),
    clickCount: t.exposeInt('clickCount'),
    uniqClickCount: t.exposeInt('uniqClickCount', { description: 'People who clicked at least once.' }),
    clickRate: t.exposeFloat('clickRate', {
      description: 'People who clicked, as a fraction of the delivered messages.',
    }),
    clickPerUniqOpen: t.exposeFloat('clickPerUniqOpen', {
      description: 'People who clicked, as a fraction of those who opened.',
    }),
    lastClick: t.expose('lastClick', { type: 'DateTime', nullable: true }),
    humanOpenCount: t.exposeInt('humanOpenCount', {
      description: 'Displays by people, as far as they can be distinguished from machines.',
    }),
    humanUniqOpenCount: t.exposeInt('humanUniqOpenCount', {
      description: 'People who displayed the message at least once, or clicked, which proves it; without machines.',
    }),
    humanUniqOpenRate: t.exposeFloat('humanUniqOpenRate', { description: 'As a fraction of the delivered messages.' }),
    humanClickCount: t.exposeInt('humanClickCount'),
    humanUniqClickCount: t.exposeInt('humanUniqClickCount'),
    humanClickRate: t.exposeFloat('humanClickRate', { description: 'As a fraction of the delivered messages.' }),
    machineOpenCount: t.exposeInt('machineOpenCount', { description: 'Displays by machines: proxies, scanners.' }),
    impliedOpenCount: t.exposeInt('impliedOpenCount', {
      description:
        'Opens that are known by a click only: a person’s first event was a click. Counted once for each person, with clicks by machines.',
    }),
    machineClickCount: t.exposeInt('machineClickCount', { description: 'Clicks by machines; part of `clickCount`.' }),
    bounceCount: t.exposeInt('bounceCount'),
    abuseFeedbackCount: t.exposeInt('abuseFeedbackCount'),
    unsubscribeCount: t.exposeInt('unsubscribeCount'),
    links: t.field({
      type: [CampaignLink],
      // A newsletter has some dozens at most.
      extensions: { listLength: 25 },
      resolve: (figures, _args, ctx) => loadBy(ctx, readCampaignLinks).load(figures),
    }),
    topLocations: t.field({
      type: [OpenLocation],
      extensions: { listLength: 10 },
      resolve: (figures, _args, ctx) => loadBy(ctx, readTopLocations).load(figures),
    }),
    topOpenSubscribers: t.field({
      type: [FrequentOpener],
      extensions: { listLength: 10 },
      resolve: (figures, _args, ctx) => loadBy(ctx, readTopOpeners).load(figures),
    }),
  }),
});

builder.objectFields(CampaignStatistics, (t) => ({
  pendingCount: t.exposeInt('pendingCount', {
    description:
      'Recipients without a final result: to be sent, or handed over without an answer yet. `subscriberCount` is always the sum of `pendingCount`, `sentCount`, `failedCount`, `skippedCount`, `suppressedCount` and `unknownCount`.',
  }),
  openDeliveryCount: t.int({
    deprecationReason: 'The same as `pendingCount`.',
    resolve: ({ pendingCount }) => pendingCount,
  }),
  sentCount: t.exposeInt('sentCount', {
    description: 'Messages that the receiving server accepted; `deliveredCount` is what of them has not bounced.',
  }),
  failedCount: t.exposeInt('failedCount', {
    description: 'Recipients who got no message: refused for good, deferred too often, or not to be composed for.',
  }),
  skippedCount: t.exposeInt('skippedCount', {
    description:
      'Recipients who were not subscribed any more when their message was due, or whose message a plugin has skipped.',
  }),
  suppressedCount: t.exposeInt('suppressedCount', { description: 'Recipients whose address must not be mailed.' }),
  unknownCount: t.exposeInt('unknownCount', {
    description: 'Messages that were handed over without any answer: nobody knows whether they were accepted.',
  }),
}));
