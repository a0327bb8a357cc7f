/** Mailing lists with their fields, contact, tags and numbers. Numbers come from counters, through one loader. */
import {
  listCounters,
  listStatistics,
  type ListCounters,
  type ListStatistics,
} from '../../domain/audience/list-counter-store.ts';
import { parseFrequencyCap } from '../../domain/audience/frequency-cap.ts';
import { tagsOfLists } from '../../domain/audience/list-tag-read-model.ts';
import { viewerOf } from '../../domain/context.ts';
import { builder } from '../builder.ts';
import { ListFieldType } from '../enums.ts';
import type { GraphqlContext } from '../context.ts';
import { loadBy } from '../loaders/load-by.ts';
import { ListContact } from './list-contact.ts';
import { FrequencyCapType } from './frequency-cap.ts';
import { QuietHoursType, shownQuietHours } from './quiet-hours.ts';

export const readListCounters = (ctx: GraphqlContext, ids: readonly bigint[]) =>
  listCounters(ctx.db, viewerOf(ctx).customerId, ids);

const readTags = (ctx: GraphqlContext, ids: readonly bigint[]) => tagsOfLists(ctx.db, viewerOf(ctx).customerId, ids);

const ListCountersType = builder.objectRef<ListCounters>('ListCounters').implement({
  description: 'How many people are in which state, and what they did.',
  fields: (t) => ({
    subscribed: t.exposeInt('subscribed'),
    unsubscribed: t.exposeInt('unsubscribed'),
    unconfirmed: t.exposeInt('unconfirmed'),
    pending: t.exposeInt('pending'),
    openers: t.exposeInt('openers', { description: 'People who ever opened a mail of the list.' }),
    clickers: t.exposeInt('clickers'),
    sentCount: t.expose('sentCount', { type: 'BigInt' }),
    uniqOpenCount: t.expose('uniqOpenCount', { type: 'BigInt' }),
    uniqClickCount: t.expose('uniqClickCount', { type: 'BigInt' }),
  }),
});

const ListStatisticsType = builder.objectRef<ListStatistics>('ListStatistics').implement({
  description: 'Rates are from 0 to 1 with four places; counts are people.',
  fields: (t) => ({
    subscriberCount: t.exposeInt('subscriberCount'),
    openUniqRate: t.exposeFloat('openUniqRate'),
    clickRate: t.exposeFloat('clickRate'),
    subscribeRate: t.exposeFloat('subscribeRate'),
    unsubscribeRate: t.exposeFloat('unsubscribeRate'),
    unsubscribeCount: t.exposeInt('unsubscribeCount'),
    unconfirmedCount: t.exposeInt('unconfirmedCount', { description: 'Pending and unconfirmed people.' }),
  }),
});

export const ListField = builder.prismaObject('ListField', {
  authScopes: { scope: 'lists:read' },
  fields: (t) => ({
    id: t.expose('id', { type: 'BigInt' }),
    uid: t.exposeString('uid'),
    listId: t.expose('listId', { type: 'BigInt' }),
    type: t.expose('type', { type: ListFieldType }),
    label: t.exposeString('label'),
    tag: t.exposeString('tag'),
    defaultValue: t.exposeString('defaultValue', { nullable: true }),
    required: t.exposeBoolean('required'),
    visible: t.exposeBoolean('visible'),
    customOrder: t.exposeInt('customOrder', { nullable: true }),
    options: t.exposeStringList('options'),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

export const MailList = builder.prismaObject('MailList', {
  authScopes: { scope: 'lists:read' },
  select: { id: true, customerId: true },
  fields: (t) => ({
    id: t.expose('id', { type: 'BigInt' }),
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    defaultSubject: t.exposeString('defaultSubject'),
    fromEmail: t.exposeString('fromEmail'),
    fromName: t.exposeString('fromName'),
    remindMessage: t.exposeString('remindMessage', { nullable: true }),
    status: t.exposeString('status'),
    subscribeConfirmation: t.exposeBoolean('subscribeConfirmation'),
    sendWelcomeEmail: t.exposeBoolean('sendWelcomeEmail'),
    unsubscribeNotification: t.exposeBoolean('unsubscribeNotification'),
    sendGoodbyeEmail: t.exposeBoolean('sendGoodbyeEmail'),
    timezone: t.exposeString('timezone', {
      nullable: true,
      description: 'The time zone of people whose own is not known; null: that of the customer.',
    }),
    timezoneTag: t.exposeString('timezoneTag', {
      nullable: true,
      description: "Tag of the field that holds a person's own time zone.",
    }),
    quietHours: t.field({
      type: QuietHoursType,
      nullable: true,
      description: 'Nobody gets mail in these hours.',
      select: { quietHours: true },
      resolve: ({ quietHours }) => shownQuietHours(quietHours),
    }),
    frequencyCap: t.field({
      type: FrequencyCapType,
      nullable: true,
      description: 'The most messages to a person of the list; null: no limit but that of the customer.',
      select: { frequencyCap: true },
      resolve: ({ frequencyCap }) => parseFrequencyCap(frequencyCap),
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
    contact: t.relation('contact', { type: ListContact, nullable: true }),
    fields: t.relation('fields', {
      type: ListField,
      description:
        'The custom fields, by `customOrder`, then in the order they were made. The address (EMAIL) is no custom field.',
      query: { orderBy: [{ customOrder: { sort: 'asc', nulls: 'last' } }, { id: 'asc' }] },
    }),
    tags: t.stringList({
      description: 'Tags its subscribers ever had, by name; the first thousand.',
      resolve: ({ id }, _args, ctx) => loadBy(ctx, readTags).load(id),
    }),
    counters: t.field({
      type: ListCountersType,
      resolve: ({ id }, _args, ctx) => loadBy(ctx, readListCounters).load(id),
    }),
    statistics: t.field({
      type: ListStatisticsType,
      resolve: async ({ id }, _args, ctx) => listStatistics(await loadBy(ctx, readListCounters).load(id)),
    }),
  }),
});
