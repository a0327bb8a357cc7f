/** A plan in GraphQL. */
import { optionsWithoutEffect } from '../../domain/billing/plans/plan-options.ts';
import { shownPlanOptions } from '../../domain/billing/plans/shown-plan-options.ts';
import { builder } from '../builder.ts';
import { FrequencyUnit, PlanStatus } from '../enums.ts';
import { SendingRouteType, shownRoutes } from '../sending-servers/sending-route.ts';
import { Money } from './money.ts';

export const Plan = builder.prismaObject('Plan', {
  authScopes: { authenticated: true },
  fields: (t) => ({
    uid: t.exposeString('uid'),
    name: t.exposeString('name'),
    price: t.field({
      type: Money,
      description: 'Of one period.',
      select: { priceMinor: true, currencyCode: true },
      resolve: ({ priceMinor, currencyCode }) => ({ minor: priceMinor, currencyCode }),
    }),
    frequencyAmount: t.exposeInt('frequencyAmount', { description: 'The length of a period, in `frequencyUnit`s.' }),
    frequencyUnit: t.expose('frequencyUnit', { type: FrequencyUnit, description: '`day`, `week`, `month` or `year`.' }),
    color: t.exposeString('color', { nullable: true }),
    status: t.expose('status', {
      type: PlanStatus,
      description: '`active` or `inactive`: archived, nobody new can have it.',
    }),
    customOrder: t.exposeInt('customOrder', { nullable: true, description: 'Its place among the others.' }),
    options: t.field({
      type: 'JsonObject',
      description:
        'What it allows, every option by name; -1 is unlimited. `max_file_size_upload` and `max_size_upload_total` are whole megabytes (1,048,576 bytes).',
      select: { options: true },
      resolve: ({ options }) => shownPlanOptions(isRecord(options) ? options : {}),
    }),
    optionsWithoutEffect: t.stringList({
      description: 'Names of `options` that are kept, and that nothing obeys yet.',
      select: { options: true },
      resolve: ({ options }) => optionsWithoutEffect(isRecord(options) ? options : {}),
    }),
    sendingServers: t.field({
      type: [SendingRouteType],
      description: "The system's servers that its customers go through, by weight; empty: none is chosen.",
      authScopes: { admin: true },
      select: { routes: true },
      resolve: ({ routes }) => shownRoutes(routes),
    }),
    verificationServers: t.exposeStringList('verificationServers', {
      description:
        "Uids of the system's verification servers that its customers may use when its option `all_email_verification_servers` is `no`.",
      authScopes: { admin: true },
    }),
    createdAt: t.expose('createdAt', { type: 'DateTime' }),
    updatedAt: t.expose('updatedAt', { type: 'DateTime' }),
  }),
});

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
