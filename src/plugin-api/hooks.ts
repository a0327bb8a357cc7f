/**
 * The hook bus's four kinds (specification 6.4), each with a map of its names. Plugins add names of their own by
 * declaration merging: `declare module 'mailwright/plugin-api' { interface EventHooks { my_event: [id: string] } }`.
 */
import type { SendingDriverRegistration } from './sending-driver.ts';

/** REGISTRY: every plugin contributes, the results are merged. Name to the entry's type. */
export interface RegistryHooks {
  register_sending_server_driver: SendingDriverRegistration;
}

/** A customer that was just added, with the user it began with. */
export interface AddedCustomer {
  readonly id: bigint;
  readonly uid: string;
  readonly email: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly timezone: string;
}

/** EVENT: all listeners run, what they return is dropped. Name to the arguments. */
export interface EventHooks {
  customer_added: [customer: AddedCustomer];
  /** A customer's plan is another one now; `oldPlanUid` is null for the first. */
  plan_changed: [
    change: { customerUid: string; subscriptionUid: string; oldPlanUid: string | null; newPlanUid: string },
  ];
  /** A running subscription has ended and no other replaces it. */
  subscription_terminated: [subscription: { uid: string; customerUid: string; planUid: string }];
}

/** BEHAVIOR: one plugin may set it, a second one throws at once. Name to the arguments and the result. */
export interface BehaviorHooks {
  dispatch_list_import_job: { args: [list: { listUid: string; importUid: string }]; result: Promise<void> };
}

export type Behavior<Name extends keyof BehaviorHooks> = (
  ...args: BehaviorHooks[Name]['args']
) => BehaviorHooks[Name]['result'];

/** FILTER: each callback gets the value and returns the next. Name to the value's type. */
export interface FilterHooks {
  'sidebar-menu-items': readonly { label: string; href: string }[];
}

export interface Hooks {
  add<Name extends keyof RegistryHooks>(name: Name, entry: RegistryHooks[Name]): void;
  collect<Name extends keyof RegistryHooks>(name: Name): readonly RegistryHooks[Name][];
  on<Name extends keyof EventHooks>(name: Name, listener: (...args: EventHooks[Name]) => void | Promise<void>): void;
  /** Runs all listeners; one that throws is logged and does not stop the others. */
  fire<Name extends keyof EventHooks>(name: Name, ...args: EventHooks[Name]): Promise<void>;
  set<Name extends keyof BehaviorHooks>(name: Name, behavior: Behavior<Name>): void;
  setIfEmpty<Name extends keyof BehaviorHooks>(name: Name, behavior: Behavior<Name>): void;
  perform<Name extends keyof BehaviorHooks>(
    name: Name,
    ...args: BehaviorHooks[Name]['args']
  ): BehaviorHooks[Name]['result'];
  modify<Name extends keyof FilterHooks>(name: Name, callback: (value: FilterHooks[Name]) => FilterHooks[Name]): void;
  filter<Name extends keyof FilterHooks>(name: Name, value: FilterHooks[Name]): FilterHooks[Name];
}
