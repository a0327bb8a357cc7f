/**
 * Mailwright's own hooks (specification 6.4). The version of a hook is raised by a change of its arguments, entries or results for which
 * plugins must change; plugins written for another version are refused then.
 */
import { PLUGIN_EVENT_KINDS, type HookPattern } from '../plugin-api/index.ts';
import type { EntryCheck } from './entry-check.ts';
import { checkLiquidFilter, checkMailTemplate, checkMergeTag, checkRecipientCheck } from './message-checks.ts';
import { checkMenuItems, checkPageAsset, checkPageSection, checkSidebarGroup } from './page-checks.ts';
import { checkPaymentGateway } from './payment-gateway-check.ts';
import { checkPluginPage } from './plugin-page-check.ts';
import { checkSettingsForm } from './settings-check.ts';
import { checkTranslationFile } from './translation-check.ts';
import { checkEmailVerifier } from './email-verifier-check.ts';
import { markDriver } from './marked-driver.ts';
import { checkEventFollower } from './follower-check.ts';
import { checkCronLine, checkDailyTask, checkJob } from './job-checks.ts';
import { checkRoute } from './route-check.ts';
import { checkSegmentCondition } from './segment-condition-check.ts';

/** `register` runs for every plugin that is found, `boot` for active ones. */
export type Phase = 'register' | 'boot';

export interface KnownHook {
  readonly pattern: HookPattern;
  readonly version: number;
  readonly phase: Phase;
  /** Plugins may call it, too. */
  readonly isCalledByPlugins?: true;
  /** A family: the names that belong to it. */
  readonly family?: RegExp;
  /** What an entry of a REGISTRY, or what a callback of a FILTER returns, must be. */
  readonly check?: EntryCheck;
}

export type KnownHooks = Readonly<Record<string, KnownHook>>;

/** One for each kind of the event record; of the hook `plan_changed`, which means a customer's plan, see below. */
const recordedEvents: KnownHooks = Object.fromEntries(
  PLUGIN_EVENT_KINDS.map((kind) => [
    kind === 'plan_changed' ? 'plan_edited' : kind,
    { pattern: 'EVENT', version: 1, phase: 'boot' },
  ]),
);

export const knownHooks: KnownHooks = {
  register_sending_server_driver: { pattern: 'REGISTRY', version: 1, phase: 'register', check: markDriver },
  'register_sending_server_<name>': {
    ...{ pattern: 'REGISTRY', version: 1, phase: 'register' },
    family: /^register_sending_server_[\w-]+$/,
  },
  register_email_verifier: { pattern: 'REGISTRY', version: 1, phase: 'register', check: checkEmailVerifier },
  register_payment_gateway: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkPaymentGateway },
  add_translation_file: { pattern: 'REGISTRY', version: 1, phase: 'register', check: checkTranslationFile },
  'layout.head.assets': { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkPageAsset },
  'layout.body.before_close': { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkPageAsset },
  'admin.sidebar.groups': { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkSidebarGroup },
  'page.<ctrl>.<action>.<slot>': {
    ...{ pattern: 'REGISTRY', version: 1, phase: 'boot' },
    family: /^page\.[\w-]+\.[\w-]+\.[\w-]+$/,
    check: checkPageSection,
  },
  graphql_part: { pattern: 'REGISTRY', version: 1, phase: 'boot' },
  event_follower: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkEventFollower },
  job: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkJob },
  cron_line: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkCronLine },
  daily_task: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkDailyTask },
  route: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkRoute },
  rest_row: { pattern: 'REGISTRY', version: 1, phase: 'boot' },
  page: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkPluginPage },
  settings_form: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkSettingsForm },
  'settings_changed_<vendor>/<name>': {
    ...{ pattern: 'EVENT', version: 1, phase: 'boot' },
    family: /^settings_changed_[\w-]+\/[\w-]+$/,
  },
  ...recordedEvents,
  customer_added: { pattern: 'EVENT', version: 1, phase: 'boot' },
  plan_changed: { pattern: 'EVENT', version: 1, phase: 'boot' },
  subscription_terminated: { pattern: 'EVENT', version: 1, phase: 'boot' },
  'activate_plugin_<vendor>/<name>': {
    ...{ pattern: 'EVENT', version: 1, phase: 'boot' },
    family: /^activate_plugin_[\w-]+\/[\w-]+$/,
  },
  'delete_plugin_<vendor>/<name>': {
    ...{ pattern: 'EVENT', version: 1, phase: 'boot' },
    family: /^delete_plugin_[\w-]+\/[\w-]+$/,
  },
  ai_task_completed: { pattern: 'EVENT', version: 1, phase: 'boot', isCalledByPlugins: true },
  dispatch_list_import_job: { pattern: 'BEHAVIOR', version: 1, phase: 'boot' },
  'sidebar-menu-items': { pattern: 'FILTER', version: 1, phase: 'boot', check: checkMenuItems },
  liquid_filter: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkLiquidFilter },
  mail_template: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkMailTemplate },
  merge_tag: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkMergeTag },
  segment_condition: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkSegmentCondition },
  recipient_check: { pattern: 'REGISTRY', version: 1, phase: 'boot', check: checkRecipientCheck },
  import_row: { pattern: 'FILTER', version: 1, phase: 'boot' },
  message_composed: { pattern: 'FILTER', version: 1, phase: 'boot' },
  before_message_sent: { pattern: 'FILTER', version: 1, phase: 'boot' },
};
