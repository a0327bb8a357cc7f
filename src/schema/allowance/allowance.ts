/** What a customer may do, and how much of it is used. */
import type { Allowance as AllowanceRow } from '../../domain/billing/plans/allowance.ts';
import type { LimitUsage as LimitUsageRow } from '../../domain/billing/plans/usage-read-model.ts';
import { limitUsages } from '../../domain/billing/plans/usage-read-model.ts';
import { sendUsage, type SendUsage } from '../../domain/sending/send-budget-store.ts';
import { builder } from '../builder.ts';
import { AllowanceSource } from '../enums.ts';
import { readingMoney } from '../invoices/invoice.ts';

export interface AllowanceOf {
  readonly customerId: bigint;
  readonly allowance: AllowanceRow;
}

const LimitUsage = builder.objectRef<LimitUsageRow>('LimitUsage').implement({
  authScopes: readingMoney,
  fields: (t) => ({
    name: t.exposeString('name', { description: 'The option of the plan: `list_max`.' }),
    used: t.exposeFloat('used', {
      description: 'How many there are; of a limit per list, in the list that has most. Uploads are in bytes.',
    }),
    max: t.exposeFloat('max', { nullable: true, description: 'Null: no limit.' }),
  }),
});

interface BudgetRow {
  readonly used: number;
  readonly max: number | null;
  readonly endsAt: Date | null;
}

const SendBudget = builder.objectRef<BudgetRow>('SendBudget').implement({
  authScopes: readingMoney,
  description: 'Messages that were accepted by a server, or handed over and never answered.',
  fields: (t) => ({
    used: t.exposeFloat('used'),
    max: t.exposeFloat('max', { nullable: true, description: 'Null: no limit.' }),
    left: t.float({
      nullable: true,
      resolve: ({ used, max }) => (max === null ? null : Math.max(0, max - used)),
    }),
    endsAt: t.expose('endsAt', {
      type: 'DateTime',
      nullable: true,
      description:
        'When counting begins anew. Of the quota: when the first of the counted messages no longer counts, or when sending continues if it is used up; null while none counts.',
    }),
  }),
});

const Sending = builder.objectRef<SendUsage>('SendUsage').implement({
  authScopes: readingMoney,
  fields: (t) => ({
    credits: t.field({
      type: SendBudget,
      description: '`email_max` of the billing period.',
      resolve: (usage) => ({ used: usage.creditsUsed, max: usage.creditsMax, endsAt: usage.creditsEndAt }),
    }),
    quota: t.field({
      type: SendBudget,
      description:
        'The messages counted against the plan’s `sending_quota`: those sent within its time, up to now. Always 0 without a quota.',
      resolve: (usage) => ({ used: usage.quotaUsed, max: usage.quotaMax, endsAt: usage.quotaEndsAt }),
    }),
    reserved: t.exposeFloat('reserved', { description: 'Reserved for jobs that are sending at present.' }),
  }),
});

export const Allowance = builder.objectRef<AllowanceOf>('Allowance').implement({
  authScopes: readingMoney,
  description: 'What a customer may do now: the options of its plan, its own ones over them.',
  fields: (t) => ({
    source: t.field({
      type: AllowanceSource,
      description:
        "`unlimited` (the operator's account), `plan`, `pending` (the first subscription waits for payment: lists, subscribers and campaigns can be prepared, nothing is sent), `ended` or `none` (reading, paying and deleting go on, nothing new is made or sent).",
      resolve: ({ allowance }) => allowance.source,
    }),
    planUid: t.string({ nullable: true, resolve: ({ allowance }) => allowance.planUid }),
    planName: t.string({ nullable: true, resolve: ({ allowance }) => allowance.planName }),
    periodStartedAt: t.field({
      type: 'DateTime',
      nullable: true,
      resolve: ({ allowance }) => allowance.periodStartedAt,
    }),
    periodEndsAt: t.field({ type: 'DateTime', nullable: true, resolve: ({ allowance }) => allowance.periodEndsAt }),
    options: t.field({
      type: 'JsonObject',
      description: 'Every option by name; -1 is unlimited.',
      resolve: ({ allowance }) => ({ ...allowance.options }),
    }),
    limits: t.field({
      type: [LimitUsage],
      description: 'Everything that is counted.',
      resolve: ({ customerId, allowance }, _args, ctx) => limitUsages(ctx.db, customerId, allowance),
    }),
    sending: t.field({
      type: Sending,
      resolve: ({ customerId, allowance }, _args, ctx) => sendUsage(ctx.db, customerId, allowance),
    }),
  }),
});
