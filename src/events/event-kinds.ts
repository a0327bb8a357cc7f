/**
 * The kinds of events and their data: what happened to which object. Data is small: uids, old and new values. It has no personal
 * data, because events are kept for weeks and not erased with a person; readers load what they need.
 *
 * Rows of customers, plans, lists, campaigns and verifications are recorded by triggers (prisma/functions/record_*_events.sql), so that no
 * statement can forget it. What a row alone does not show is recorded by verbs, with `recordEvents`.
 */

type Nothing = Readonly<Record<string, never>>;

interface StatusChange {
  readonly from: string;
  readonly to: string;
}

interface OfSubscription {
  readonly customerUid: string;
  readonly planUid: string;
}

/** Kind to data. Kinds and names in data are stored: never rename one. */
export interface EventKinds {
  customer_added: Nothing;
  /** `active`, `disabled`. */
  customer_status_changed: StatusChange;
  /** Nobody finds it any more; its data is being erased. */
  customer_deleted: Nothing;

  plan_created: Nothing;
  plan_changed: Nothing;
  /** `active`, `inactive`. */
  plan_status_changed: StatusChange;
  plan_deleted: Nothing;

  /** It waits for its first payment, or for `subscription_started`. */
  subscription_created: OfSubscription;
  subscription_started: OfSubscription;
  subscription_renewed: OfSubscription;
  /** It ends with its period. */
  subscription_cancelled: OfSubscription;
  /** The cancellation was taken back. */
  subscription_resumed: OfSubscription;
  /** Of a running subscription, or of the customer by a new subscription; `oldPlanUid` is null for the first plan. */
  subscription_plan_changed: {
    readonly customerUid: string;
    readonly oldPlanUid: string | null;
    readonly newPlanUid: string;
  };
  subscription_ended: OfSubscription & {
    /** It had started. */
    readonly wasRunning: boolean;
    /** Another subscription of the customer replaces it. */
    readonly isReplaced: boolean;
    /** An administrator or the customer ended it at once. */
    readonly isTerminated: boolean;
  };

  list_created: Nothing;
  list_changed: Nothing;
  list_deleted: Nothing;

  campaign_created: Nothing;
  /** `reason` is the code of the new status's reason. */
  campaign_status_changed: StatusChange & { readonly reason: string | null };
  campaign_deleted: Nothing;

  /** `queued`, `running`, `paused`, `done`, `cancelled`; how many people had which result by then. `importUid`: only people of this import. */
  verification_status_changed: StatusChange & {
    readonly listUid: string;
    readonly importUid: string | null;
    readonly deliverable: number;
    readonly undeliverable: number;
    readonly risky: number;
    readonly unknown: number;
  };

  plugin_activated: { readonly version: string; readonly isFirst: boolean };
  /** `isSwitchedOff`: by Mailwright, because of its faults. */
  plugin_deactivated: { readonly version: string; readonly isSwitchedOff?: true };
  plugin_deleted: { readonly isDataKept: boolean };
}

/** A kind with its data. */
export type Happening = {
  [Kind in keyof EventKinds]: { readonly kind: Kind; readonly data: EventKinds[Kind] };
}[keyof EventKinds];

interface About {
  /** Null: of no customer. */
  readonly customerId: bigint | null;
  /** The object that it is about. Followers get the events of an object in the order in which they happened. */
  readonly objectUid: string;
}

/** An event as it is recorded. */
export type NewEvent = Happening & About;

/** An event as it is read. */
export type RecordedEvent = NewEvent & { readonly id: bigint; readonly happenedAt: Date };
