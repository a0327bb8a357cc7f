/** Plugins as customers see them: which may act for them, switched on and off. An extension of the specification. */
import { z } from 'zod';
import type { RestOfferedPluginFragment } from '../../generated/operations.ts';
import { done, ok } from '../answer.ts';
import { endpoint } from '../endpoint.ts';
import type { Input } from '../input.ts';
import { actionShape, answersBody } from '../shapes.ts';

const offeredShape = z
  .strictObject({
    vendor: z.string(),
    name: z.string(),
    title: z.string(),
    description: z.string(),
    scopes: z.array(z.string()).meta({ description: 'What it may do for you.' }),
    is_for_all_customers: z.boolean().meta({ description: 'It acts for all customers, switched on or not.' }),
    is_switched_on: z.boolean().meta({ description: 'You have switched it on.' }),
  })
  .meta({ id: 'OfferedPlugin' });

export const offeredPluginRows = [
  endpoint({
    method: 'GET',
    path: '/me/plugins',
    access: 'token',
    summary: 'Lists the active plugins that may act for customers.',
    answers: answersBody(z.array(offeredShape)),
    operation: 'OfferedPlugins',
    variables: () => ({}),
    present: ({ offeredPlugins }) => ok(offeredPlugins.nodes.map(presentOffered)),
  }),
  endpoint({
    method: 'POST',
    path: '/me/plugins/:vendor/:name/switch-on',
    access: 'token',
    summary: 'Lets a plugin act for you, with the scopes that it has.',
    answers: answersBody(actionShape({ plugin: offeredShape })),
    operation: 'SwitchPluginOn',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ switchPluginOn }) => done('The plugin was switched on', { plugin: presentOffered(switchPluginOn) }),
  }),
  endpoint({
    method: 'POST',
    path: '/me/plugins/:vendor/:name/switch-off',
    access: 'token',
    summary: 'A plugin acts for you no longer, unless it acts for all customers.',
    answers: answersBody(actionShape({ plugin: offeredShape })),
    operation: 'SwitchPluginOff',
    variables: (input) => ({ input: keyOf(input) }),
    present: ({ switchPluginOff }) => done('The plugin was switched off', { plugin: presentOffered(switchPluginOff) }),
  }),
];

function keyOf(input: Input) {
  return { vendor: input.param('vendor'), name: input.param('name') };
}

function presentOffered({ isForAllCustomers, isSwitchedOn, ...plugin }: RestOfferedPluginFragment) {
  const { vendor, name, title, description, scopes } = plugin;
  return {
    ...{ vendor, name, title, description, scopes },
    ...{ is_for_all_customers: isForAllCustomers, is_switched_on: isSwitchedOn },
  };
}
