/** Changing plans: administrators. */
import { createPlanInput, updatePlanInput } from '../../domain/billing/plans/plan.ts';
import { createPlan } from '../../domain/billing/plans/create-plan.ts';
import { deletePlan } from '../../domain/billing/plans/delete-plan.ts';
import { updatePlan } from '../../domain/billing/plans/update-plan.ts';
import { builder } from '../builder.ts';
import { ActiveStatus, FrequencyUnit } from '../enums.ts';
import { Plan } from './plan.ts';

const writing = { admin: true } as const;
const PRICE = 'Of one period, as an exact decimal: `9.99`.';
const OPTIONS = 'By name, as in `Plan.options`; an unknown name is refused.';

builder.mutationField('createPlan', (t) =>
  t.prismaFieldWithInput({
    type: Plan,
    description: 'A new plan. Its currency is named by number or code; options that are not given have their default.',
    authScopes: writing,
    typeOptions: { checks: createPlanInput.shape },
    input: {
      name: t.input.string({ required: true }),
      price: t.input.string({ required: true, description: PRICE }),
      currencyId: t.input.int(),
      currencyCode: t.input.string({ description: 'ISO 4217, instead of the number.' }),
      frequencyAmount: t.input.int({ required: true }),
      frequencyUnit: t.input.field({ type: FrequencyUnit, required: true }),
      color: t.input.string(),
      customOrder: t.input.int({ description: 'Its place among the others; by default the last.' }),
      options: t.input.field({ type: 'JsonObject', description: OPTIONS }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { id } = await createPlan(ctx, input);
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

builder.mutationField('updatePlan', (t) =>
  t.prismaFieldWithInput({
    type: Plan,
    description:
      'Changes what is given. Options reach those who have the plan at once, price and period with their next renewal. The currency of a plan that somebody has cannot be changed.',
    authScopes: writing,
    typeOptions: { checks: updatePlanInput.shape },
    input: {
      uid: t.input.string({ required: true }),
      name: t.input.string(),
      price: t.input.string({ description: PRICE }),
      currencyId: t.input.int(),
      currencyCode: t.input.string(),
      frequencyAmount: t.input.int(),
      frequencyUnit: t.input.field({ type: FrequencyUnit }),
      color: t.input.string(),
      customOrder: t.input.int(),
      status: t.input.field({ type: ActiveStatus, description: '`inactive`: archived, nobody new can have it.' }),
      options: t.input.field({ type: 'JsonObject', description: `${OPTIONS} null: back to the default.` }),
    },
    resolve: async (query, _root, { input }, ctx) => {
      const { id } = await updatePlan(ctx, input);
      return ctx.prisma.plan.findUniqueOrThrow({ ...query, where: { id } });
    },
  }),
);

const DeletedPlan = builder.objectRef<{ uid: string }>('DeletedPlan').implement({
  authScopes: writing,
  fields: (t) => ({ uid: t.exposeString('uid') }),
});

builder.mutationField('deletePlan', (t) =>
  t.field({
    type: DeletedPlan,
    description: 'Deletes a plan. Refused while somebody has it: archive it instead (`status: "inactive"`).',
    authScopes: writing,
    args: { uid: t.arg.string({ required: true }) },
    resolve: (_root, { uid }, ctx) => deletePlan(ctx, { uid }),
  }),
);
