/**
 * Events of the event record, as plugins get them: by EVENT hooks of the same names, and by followers of their own. They have uids, old
 * and new values, and nothing personal: what else is needed is read when the event comes.
 */

import type { VerificationResult } from './email-verifier.ts';

/** Kinds of which the object says all. */
type Plain =
  | `customer_${'added' | 'deleted'}`
  | `plan_${'created' | 'changed' | 'deleted'}`
  | `list_${'created' | 'changed' | 'deleted'}`
  | `campaign_${'created' | 'deleted'}`;
type OfStatus = 'customer_status_changed' | 'plan_status_changed';
type OfSubscription = `subscription_${'created' | 'started' | 'renewed' | 'cancelled' | 'resumed'}`;
interface Subscription {
  readonly customerUid: string;
  readonly planUid: string;
}
interface Status {
  readonly from: string;
  readonly to: string;
}

/** Kind to data. The kind `plan_changed` says that the plan itself was changed; its EVENT hook is `plan_edited`. */
export interface PluginEventKinds
  extends
    Record<Plain, Readonly<Record<string, never>>>,
    Record<OfStatus, Status>,
    Record<OfSubscription, Subscription> {
  /** `oldPlanUid` is null for the customer's first plan. */
  subscription_plan_changed: Pick<Subscription, 'customerUid'> & {
    readonly oldPlanUid: string | null;
    readonly newPlanUid: string;
  };
  subscription_ended: Subscription & Readonly<Record<'wasRunning' | 'isReplaced' | 'isTerminated', boolean>>;
  /** `queued`, `sending`, `paused`, `done` and so on; `reason` is the code of the new status's reason. */
  campaign_status_changed: Status & { readonly reason: string | null };
  /**
   * A verification of a list, or of what an import has added: `queued`, `running`, `paused`, `done`, `cancelled`, and how many people had which
   * result by then.
   */
  verification_status_changed: Status & { readonly listUid: string; readonly importUid: string | null } & Readonly<
      Record<VerificationResult, number>
    >;
  plugin_activated: { readonly version: string; readonly isFirst: boolean };
  plugin_deactivated: { readonly version: string };
  plugin_deleted: { readonly isDataKept: boolean };
}

export type PluginEventKind = keyof PluginEventKinds;

/** All kinds, for whoever needs them as values. */
export const PLUGIN_EVENT_KINDS = [
  ...(['customer_added', 'customer_status_changed', 'customer_deleted'] as const),
  ...(['plan_created', 'plan_changed', 'plan_status_changed', 'plan_deleted'] as const),
  ...(['subscription_created', 'subscription_started', 'subscription_renewed', 'subscription_cancelled'] as const),
  ...(['subscription_resumed', 'subscription_plan_changed', 'subscription_ended'] as const),
  ...(['list_created', 'list_changed', 'list_deleted'] as const),
  ...(['campaign_created', 'campaign_status_changed', 'campaign_deleted'] as const),
  ...(['verification_status_changed'] as const),
  ...(['plugin_activated', 'plugin_deactivated', 'plugin_deleted'] as const),
] satisfies readonly PluginEventKind[];

/** An event of one of these kinds. */
export type PluginEvent<Kinds extends PluginEventKind = PluginEventKind> = {
  [Kind in Kinds]: {
    /** Greater than those of all events of the same object before it. An event that comes again has the same. */
    readonly id: string;
    readonly kind: Kind;
    /** The object: a customer, plan, subscription, list, campaign or verification; of a plugin its `vendor/name`. */
    readonly uid: string;
    /** Null: of no customer, or of one that was erased. */
    readonly customerUid: string | null;
    /** ISO 8601. */
    readonly happenedAt: string;
    readonly data: PluginEventKinds[Kind];
  };
}[Kinds];

type HookOfKind<Kind extends PluginEventKind> = Kind extends 'plan_changed' ? 'plan_edited' : Kind;

/** EVENT hooks with the names of the kinds. `customer_added` and `plan_changed` are hooks of specification 6.4, with arguments of their own. */
export type RecordedEventHooks = {
  [Kind in Exclude<PluginEventKind, 'customer_added'> as HookOfKind<Kind>]: [event: PluginEvent<Kind>];
};

/** An entry of the hook `event_follower`. */
export interface EventFollower {
  /** Small letters, digits, `-` and `_`. Its position is kept under this name. */
  readonly name: string;
  /** Absent: all kinds. */
  readonly kinds?: readonly PluginEventKind[];
  /** Events that are handed over at once, at most 500; 50 if absent. After the death of a process so many may come again. */
  readonly batch?: number;
  /** How long a batch may take, 1 to 300; 30 if absent. */
  readonly secondsMax?: number;
  /** Handles events in their order. When it throws or takes too long, the same events come again after a growing pause; none is left out. */
  handle(events: readonly PluginEvent[], run: { readonly signal: AbortSignal }): void | Promise<void>;
}
