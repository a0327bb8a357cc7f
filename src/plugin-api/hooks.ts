/**
 * The hooks of specification 6.4. Each of the four patterns has a map of its names. A plugin gives its own hooks their types by
 * declaration merging, `declare module 'mailwright/plugin-api' { interface EventHooks { my_event: [id: string] } }`, and names
 * them in `declares` of `definePlugin`.
 *
 * Arguments of EVENTs and values of FILTERs are plain data: texts, numbers, true or false, null, lists and objects of these. Lists
 * and objects are frozen, so no plugin can change what the next one or Mailwright sees.
 */
import type { GraphqlPart } from './graphql.ts';
import type { EmailVerifierRegistration } from './email-verifier.ts';
import type { EventFollower, RecordedEventHooks } from './events.ts';
import type { CronLine, DailyTask, PluginJob } from './jobs.ts';
import type { MenuItem, PageAsset, PageSection, SidebarGroup } from './pages.ts';
import type { PaymentGatewayRegistration } from './payment-gateway.ts';
import type { PluginPage } from './plugin-page.ts';
import type { SettingsChange, SettingsForm } from './plugin-settings.ts';
import type { TranslationFile } from './plugin-texts.ts';
import type { LiquidFilter } from './liquid-filter.ts';
import type { MailTemplate } from './mail-template.ts';
import type { MergeTag } from './merge-tag.ts';
import type { ComposedMessage, ImportedRow, MessageToSend, RecipientCheck } from './messages.ts';
import type { RestRow } from './rest.ts';
import type { Route } from './routes.ts';
import type { SegmentCondition } from './segment-condition.ts';
import type { SendingDriverRegistration } from './sending-driver.ts';

/** REGISTRY: every plugin contributes, the entries are collected. Name to the entry's type. */
export interface RegistryHooks {
  register_sending_server_driver: SendingDriverRegistration;
  [name: `register_sending_server_${string}`]: unknown;
  register_email_verifier: EmailVerifierRegistration;
  register_payment_gateway: PaymentGatewayRegistration;
  add_translation_file: TranslationFile;
  event_follower: EventFollower;
  job: PluginJob;
  cron_line: CronLine;
  daily_task: DailyTask;
  liquid_filter: LiquidFilter;
  mail_template: MailTemplate;
  merge_tag: MergeTag;
  recipient_check: RecipientCheck;
  page: PluginPage;
  segment_condition: SegmentCondition;
  settings_form: SettingsForm;
  'layout.head.assets': PageAsset;
  'layout.body.before_close': PageAsset;
  'admin.sidebar.groups': SidebarGroup;
  [name: `page.${string}.${string}.${string}`]: PageSection;
  graphql_part: GraphqlPart;
  rest_row: RestRow;
  route: Route;
}

/**
 * EVENT: all listeners run, what they return is dropped. Name to the arguments.
 *
 * Events of customers and subscriptions are read from the event record: each is fired at least once, in one process of the
 * installation, soon after the change has committed. After the death of a process some are fired again, so a listener must be able
 * to handle an event twice. What it gets is read when it is fired; of a customer that was deleted meanwhile nothing is fired.
 */
export interface EventHooks extends RecordedEventHooks {
  customer_added: [customer: AddedCustomer];
  /** A customer's plan is another one now; `oldPlanUid` is null for the first. */
  plan_changed: [
    change: { customerUid: string; subscriptionUid: string; oldPlanUid: string | null; newPlanUid: string },
  ];
  /** A running subscription has ended and no other replaces it. */
  subscription_terminated: [subscription: { uid: string; customerUid: string; planUid: string }];
  /** The first activation of a plugin. */
  [name: `activate_plugin_${string}/${string}`]: [plugin: { name: string }];
  [name: `delete_plugin_${string}/${string}`]: [plugin: { name: string; keepData: boolean }];
  /** The plugin's settings were changed: fired in every process, soon after the change. */
  [name: `settings_changed_${string}/${string}`]: [change: SettingsChange];
  /** Fired by plugins. */
  ai_task_completed: [task: Readonly<Record<string, unknown>>];
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

export type Listener<Name extends keyof EventHooks> = (...args: EventHooks[Name]) => void | Promise<void>;

/** BEHAVIOR: one plugin may set it. Name to the arguments and the result. */
export interface BehaviorHooks {
  /**
   * Starts an import whose file is uploaded. It runs in a worker. When it fails, or takes over a minute, it is tried again; after the
   * last try the import is failed, unless `run` was called.
   */
  dispatch_list_import_job: { args: [found: UploadedImport]; result: void };
}

export interface UploadedImport {
  readonly listUid: string;
  readonly importUid: string;
  /** Enqueues Mailwright's own job, which imports the file. Calling it again changes nothing. */
  run(): Promise<void>;
}

export type Behavior<Name extends keyof BehaviorHooks> = (
  ...args: BehaviorHooks[Name]['args']
) => BehaviorHooks[Name]['result'] | Promise<BehaviorHooks[Name]['result']>;

/**
 * FILTER: each callback gets the value and returns the next. Name to the value's type. A callback must return the same kind of value
 * (a text for a text, a list for a list); otherwise the value before it is used.
 */
export interface FilterHooks {
  'sidebar-menu-items': readonly MenuItem[];
  message_composed: ComposedMessage;
  before_message_sent: MessageToSend;
  import_row: ImportedRow;
}

export type FilterCallback<Name extends keyof FilterHooks> = (value: FilterHooks[Name]) => FilterHooks[Name];

export type HookPattern = 'REGISTRY' | 'EVENT' | 'BEHAVIOR' | 'FILTER';
export type HookName = keyof RegistryHooks | keyof EventHooks | keyof BehaviorHooks | keyof FilterHooks;

/** Where an entry stands among those of other plugins. Without it: by the plugins' names. */
export interface HookOrder {
  /** Plugins whose entries follow this one. Plugins that are not active do not matter. */
  readonly before?: readonly string[];
  /** Plugins whose entries precede this one. */
  readonly after?: readonly string[];
  /** Smaller numbers come first; 0 if absent. `before` and `after` are stronger. */
  readonly priority?: number;
}

/** What a plugin registers with, only while its `register` or `boot` runs. Entries take effect when the plugin becomes active. */
export interface HookRegistration {
  add<Name extends keyof RegistryHooks>(name: Name, entry: RegistryHooks[Name], order?: HookOrder): void;
  on<Name extends keyof EventHooks>(name: Name, listener: Listener<Name>, order?: HookOrder): void;
  /** Throws when another plugin has set it. */
  set<Name extends keyof BehaviorHooks>(name: Name, behavior: Behavior<Name>): void;
  /** Used when no plugin has `set` it; of several, that of the first plugin by name. */
  setIfEmpty<Name extends keyof BehaviorHooks>(name: Name, behavior: Behavior<Name>): void;
  modify<Name extends keyof FilterHooks>(name: Name, callback: FilterCallback<Name>, order?: HookOrder): void;
  /** Calls the hooks that this plugin declares, at any time. */
  readonly calls: HookCalls;
}

/** How hooks are called. Only `perform` can fail because of a plugin. */
export interface HookCalls {
  collect<Name extends keyof RegistryHooks>(name: Name): readonly RegistryHooks[Name][];
  /** Runs all listeners, one after the other. An asynchronous one is waited for, but at most five seconds. */
  fire<Name extends keyof EventHooks>(name: Name, ...args: EventHooks[Name]): Promise<void>;
  /** The plugin that performs it now; undefined: none. */
  performer(name: keyof BehaviorHooks): string | undefined;
  /** Rejects with an error that names the plugin when the behavior fails or takes over a minute, or when nobody has set it. */
  perform<Name extends keyof BehaviorHooks>(
    name: Name,
    ...args: BehaviorHooks[Name]['args']
  ): Promise<BehaviorHooks[Name]['result']>;
  filter<Name extends keyof FilterHooks>(name: Name, value: FilterHooks[Name]): FilterHooks[Name];
}
