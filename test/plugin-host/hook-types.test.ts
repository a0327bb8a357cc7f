/** The types of hooks: what a plugin gets, and what it adds by declaration merging. The compiler checks them (`npm run typecheck`). */
import { expect, expectTypeOf, test } from 'vitest';
import { silentLog } from '../../src/lib/log.ts';
import type { AddedCustomer, HookCalls, HookRegistration, PageSection } from '../../src/plugin-api/index.ts';
import { createHookBus } from '../../src/plugin-host/hook-bus.ts';
import { withHooks } from '../support/with-hooks.ts';

declare module 'mailwright/plugin-api' {
  interface RegistryHooks {
    garden_beds: { readonly name: string };
  }
  interface EventHooks {
    garden_watered: [litres: number];
  }
  interface BehaviorHooks {
    garden_weather: { args: [place: string]; result: 'rain' | 'sun' };
  }
  interface FilterHooks {
    garden_plants: readonly string[];
  }
}

test('a plugin’s own hooks have the types that it has declared', async () => {
  const bus = createHookBus(silentLog);
  withHooks(bus, {
    declares: {
      garden_beds: { pattern: 'REGISTRY' },
      garden_watered: { pattern: 'EVENT' },
      garden_weather: { pattern: 'BEHAVIOR' },
      garden_plants: { pattern: 'FILTER' },
    },
    versions: { garden_beds: 1, customer_added: 1 },
    boot(hooks) {
      hooks.add('garden_beds', { name: 'north' });
      hooks.on('garden_watered', (litres) => void expectTypeOf(litres).toEqualTypeOf<number>());
      hooks.set('garden_weather', async (place) => (place === 'Bath' ? 'rain' : 'sun'));
      hooks.modify('garden_plants', (plants) => [...plants, 'bean']);
    },
  });
  expectTypeOf(bus.collect('garden_beds')).toEqualTypeOf<readonly { readonly name: string }[]>();
  expectTypeOf(bus.perform('garden_weather', 'Bath')).toEqualTypeOf<Promise<'rain' | 'sun'>>();
  expectTypeOf(bus.filter('garden_plants', [])).toEqualTypeOf<readonly string[]>();
  await bus.fire('garden_watered', 3);
  expect([
    bus.collect('garden_beds'),
    await bus.perform('garden_weather', 'Bath'),
    bus.filter('garden_plants', []),
  ]).toEqual([[{ name: 'north' }], 'rain', ['bean']]);
});

/** Never called: each line is right or wrong for the compiler. */
export function typesOfHooks(hooks: HookRegistration, calls: HookCalls): void {
  hooks.on('customer_added', (customer) => void expectTypeOf(customer).toEqualTypeOf<AddedCustomer>());
  hooks.on('activate_plugin_acme/images', (plugin) => void expectTypeOf(plugin).toEqualTypeOf<{ name: string }>());
  hooks.add('page.lists.show.top', { title: 'Top', href: '/top' });
  hooks.add('register_sending_server_icons', 'of any type');
  expectTypeOf(calls.collect('page.lists.show.top')).toEqualTypeOf<readonly PageSection[]>();
  expectTypeOf(calls.collect('register_sending_server_icons')).toEqualTypeOf<readonly unknown[]>();
  // @ts-expect-error A name that nobody has declared.
  hooks.on('customer_aded', () => undefined);
  // @ts-expect-error An EVENT is no FILTER.
  hooks.modify('customer_added', (customer) => customer);
  // @ts-expect-error A driver has more than a name.
  hooks.add('register_sending_server_driver', { name: 'Half a driver' });
  // @ts-expect-error The result is of the declared type.
  hooks.set('garden_weather', () => 'snow');
  // @ts-expect-error The arguments are those of the hook.
  void calls.fire('garden_watered', 'three');
  // @ts-expect-error Who calls hooks does not register for them.
  calls.on('customer_added', () => undefined);
}
