/** Plans (specification 4.9; decision D33), and the currencies of their prices. */
import { created, done, ok } from '../answer.ts';
import { pageArguments, PER_PAGE_MAX } from '../dialects.ts';
import { endpoint } from '../endpoint.ts';
import type { Dialect } from '../dialects.ts';
import type { Input } from '../input.ts';
import { classicCurrencies } from './classic-currencies.ts';
import { answersBody, answersCreated } from '../shapes.ts';
import { presentPlan } from './present.ts';
import { currenciesShape, onePlanShape, planActionShape, planDeletedShape, plansShape } from './shapes.ts';

const OPTIONS_DETAILS =
  '`options[max_file_size_upload]` (one file) and `options[max_size_upload_total]` (all files together) are whole megabytes of ' +
  '1,048,576 bytes, -1 for no limit. Options that have no effect yet stand in `ignored`: those of email verification servers.';

export const planRows = [
  endpoint({
    method: 'GET',
    path: '/plans',
    access: 'token',
    summary:
      'Lists the plans in their order: all of them, or pages with `page` and `per_page`. An array in both dialects.',
    answers: answersBody(plansShape),
    isIndex: true,
    operation: 'Plans',
    variables: (input) => {
      const window = pageArguments(input);
      // A bare array does not show that there is more: without a page parameter the answer contains everything.
      return input.has('page') || input.has('per_page') ? window : { page: 1, perPage: PER_PAGE_MAX };
    },
    present: ({ plansPage }) => ok(plansPage.nodes.map(presentPlan)),
  }),
  endpoint({
    method: 'POST',
    path: '/plans',
    access: 'admin',
    summary:
      'Makes a plan. The currency is named by `currency_id` (a number of `/currencies`, or a code) or `currency_code`.',
    details: OPTIONS_DETAILS,
    answers: answersCreated(planActionShape),
    required: ['name', 'price', 'frequency_amount', 'frequency_unit'],
    dialectFirst: true,
    operation: 'CreatePlan',
    variables: (input, { dialect }) => ({
      input: {
        ...fields(input, dialect),
        name: input.text('name') ?? '',
        price: input.text('price') ?? '',
        frequencyAmount: input.integer('frequency_amount') ?? 0,
        frequencyUnit: input.text('frequency_unit') ?? '',
      },
    }),
    fieldName,
    present({ createPlan }, _view, input) {
      reportWithoutEffect(input, createPlan);
      return created('Plan was successfully created', { plan_uid: createPlan.uid, plan: presentPlan(createPlan) });
    },
  }),
  endpoint({
    method: 'GET',
    path: '/plans/:uid',
    access: 'token',
    summary: 'Shows one plan: an active one, or one that the caller has or had.',
    answers: answersBody(onePlanShape),
    operation: 'Plan',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ plan }) => ok({ plan: presentPlan(plan) }),
  }),
  endpoint({
    method: 'PATCH',
    path: '/plans/:uid',
    access: 'admin',
    summary: 'Changes a plan: only what is given. `status` `inactive` archives it: no other customer can get it.',
    details: OPTIONS_DETAILS,
    answers: answersBody(planActionShape),
    dialectFirst: true,
    operation: 'UpdatePlan',
    variables: (input, { dialect }) => ({
      input: {
        ...fields(input, dialect),
        uid: input.param('uid'),
        name: input.text('name'),
        price: input.text('price'),
        frequencyAmount: input.integer('frequency_amount'),
        frequencyUnit: input.text('frequency_unit'),
        status: input.text('status'),
      },
    }),
    fieldName,
    present({ updatePlan }, _view, input) {
      reportWithoutEffect(input, updatePlan);
      return done('Plan was successfully updated', { plan_uid: updatePlan.uid, plan: presentPlan(updatePlan) });
    },
  }),
  endpoint({
    method: 'DELETE',
    path: '/plans/:uid',
    access: 'admin',
    summary: 'Deletes a plan without subscriptions.',
    answers: answersBody(planDeletedShape),
    operation: 'DeletePlan',
    variables: (input) => ({ uid: input.param('uid') }),
    present: ({ deletePlan: { uid } }) => done('Deleted', { plan_uid: uid }),
  }),
  endpoint({
    method: 'GET',
    path: '/currencies',
    access: 'token',
    summary: 'Lists the currencies of ISO 4217 with their numbers for `currency_id`.',
    details: 'The classic dialect has numbers of its own: 1 is USD.',
    answers: answersBody(currenciesShape),
    operation: 'Currencies',
    variables: () => ({}),
    present: ({ currencies }, { dialect }) => ok(classicCurrencies.present(currencies.nodes, dialect)),
  }),
];

function fields(input: Input, dialect: Dialect) {
  const options = input.plainObject('options');
  const currency = classicCurrencies.read(input, 'currency_id', dialect);
  return {
    currencyId: currency.number,
    // Of both names the plain code counts.
    currencyCode: input.text('currency_code') ?? currency.code,
    color: input.nullableText('color'),
    customOrder: input.integer('custom_order'),
    options: options && { ...options },
  };
}

/** Of the options that this request sets, those that nothing obeys yet stand in `ignored` (D53). */
function reportWithoutEffect(
  input: Input,
  { optionsWithoutEffect }: { optionsWithoutEffect: readonly string[] },
): void {
  const given = input.plainObject('options') ?? {};
  input.ignore(...optionsWithoutEffect.filter((name) => Object.hasOwn(given, name)).map((name) => `options.${name}`));
}

/** Options keep their names. */
function fieldName(path: string): string | undefined {
  return path.startsWith('options.') ? path : undefined;
}
