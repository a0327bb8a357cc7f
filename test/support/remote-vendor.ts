/**
 * A payment gateway whose vendor keeps subscriptions, and lives in this process. The tests act as the payer, let periods pass, and break it. A
 * renewal moves the period on; whether it was paid is said apart, as vendors do.
 */
import type { HookBus } from '../../src/plugin-host/hook-bus.ts';
import {
  GatewayError,
  type PaymentIntent,
  type PaymentMethodData,
  type RemotePeriod,
  type RemotePeriodPage,
  type RemotePlan,
  type RemoteSubscription,
  type RemoteSubscriptionPage,
  type VendorIntent,
} from '../../src/plugin-api/index.ts';
import { periodEnd } from '../../src/domain/billing/subscriptions/period.ts';
import { withHooks } from './with-hooks.ts';

export interface KeptSubscription {
  readonly id: string;
  intentUid: string | null;
  planId: string;
  status: 'active' | 'past_due' | 'canceled';
  startedAt: Date;
  periods: number;
  isPaid: boolean;
  /** How often money was taken. */
  takings: number;
  /** What the present period costs: the price of its plan when the period began. */
  due: RemoteSubscription['periodPayment'];
  /** The periods before the present one. */
  readonly past: RemotePeriod[];
}

interface Checkout {
  readonly id: string;
  readonly intent: PaymentIntent;
  isPaid: boolean;
  saves: boolean;
  subscriptionId?: string;
}

const PAGE = 2;

export class RemoteVendor {
  readonly plans: RemotePlan[] = [];
  readonly subscriptions: KeptSubscription[] = [];
  readonly checkouts = new Map<string, Checkout>();
  readonly calls: string[] = [];
  /** What the next calls of this name throw; `after <name>`: when it was done at the vendor. */
  readonly failures = new Map<string, Error>();
  /** The page that a list without an end names again and again. */
  loops = false;
  /** A slow vendor: its list is answered after that. */
  listWaits: Promise<void> | undefined;
  /** The state of these objects is answered after that. */
  readonly readWaits = new Map<string, Promise<void>>();
  hostedOnly = false;
  /** It does not say what was paid for a period. */
  hidesAmounts = false;
  /** It says what was paid for earlier periods. */
  tellsPeriods = true;
  /** Its plugin says by what id a method is recognised. */
  givesIds = false;
  declines = false;
  /** The payer must agree to another plan first. */
  waitsForPayer = false;
  now = new Date('2026-03-01T10:00:00Z');
  readonly #keys = new Map<string, KeptSubscription>();

  addPlan(id: string, amountMinor: bigint, changes: Partial<RemotePlan> = {}): void {
    this.plans.push({
      ...{ id, name: `Vendor's ${id}`, amountMinor, currencyCode: 'EUR', frequencyAmount: 1, frequencyUnit: 'month' },
      ...changes,
    });
  }

  open(intent: PaymentIntent): Checkout {
    const id = `chk_${this.checkouts.size + 1}`;
    const made: Checkout = { id, intent, isPaid: false, saves: false };
    this.checkouts.set(id, made);
    return made;
  }

  /** The payer pays at the vendor's page, which begins the subscription if there is a plan for it. */
  pay(id: string): KeptSubscription | undefined {
    const checkout = this.checkouts.get(id);
    if (!checkout) throw new Error('There is no such checkout.');
    checkout.isPaid = true;
    const { uid, remotePlanId } = checkout.intent;
    if (remotePlanId === null) return undefined;
    const kept = this.keep({ intentUid: uid, planId: remotePlanId });
    checkout.subscriptionId = kept.id;
    return kept;
  }

  keep(given: { intentUid: string | null; planId: string }): KeptSubscription {
    const kept: KeptSubscription = {
      ...{ id: `sub_${this.subscriptions.length + 1}`, status: 'active', isPaid: true, takings: 1, periods: 1 },
      ...{ ...given, startedAt: this.now, due: this.#priceOf(given), past: [] },
    };
    this.subscriptions.push(kept);
    return kept;
  }

  /** The next period begins; the vendor takes the money, or does not get it. */
  renew(kept: KeptSubscription, isPaid = true): void {
    kept.past.push(this.#presentOf(kept));
    kept.periods += 1;
    kept.due = this.#priceOf(kept);
    kept.isPaid = isPaid;
    kept.status = isPaid ? 'active' : 'past_due';
    if (isPaid) kept.takings += 1;
  }

  settle(kept: KeptSubscription): void {
    Object.assign(kept, { isPaid: true, status: 'active', takings: kept.takings + 1 });
  }

  endOf({ startedAt, periods, planId }: KeptSubscription): Date {
    const unit = this.plans.find(({ id }) => id === planId)?.frequencyUnit ?? 'month';
    return periodEnd(startedAt, { amount: 1, unit }, periods);
  }

  #presentOf(kept: KeptSubscription): RemotePeriod {
    return { endsAt: this.endOf(kept), payment: kept.isPaid ? (kept.due ?? null) : null };
  }

  /** The latest first. */
  periodsPage(id: string, cursor: string | null): RemotePeriodPage {
    this.note('periods');
    const kept = this.get(id);
    const all = [...kept.past, this.#presentOf(kept)].toReversed();
    const from = Number(cursor ?? 0);
    const hasMore = from + PAGE < all.length;
    return {
      ...{ data: all.slice(from, from + PAGE), has_more: hasMore, next_cursor: hasMore ? String(from + PAGE) : null },
    };
  }

  #priceOf({ planId }: Pick<KeptSubscription, 'planId'>): KeptSubscription['due'] {
    const plan = this.plans.find(({ id }) => id === planId);
    return plan ? { amountMinor: plan.amountMinor, currencyCode: plan.currencyCode } : null;
  }

  shown(kept: KeptSubscription): RemoteSubscription {
    const { id, intentUid, status, planId, isPaid, due } = kept;
    return {
      ...{ id, intentUid, status, planId, isActive: status !== 'canceled', isEnded: status === 'canceled' },
      ...{ currentPeriodEndsAt: this.endOf(kept), startedAt: kept.startedAt },
      ...(!this.hidesAmounts && { periodPayment: isPaid && due ? due : null }),
    };
  }

  create(intent: PaymentIntent): KeptSubscription {
    this.note('create');
    if (this.hostedOnly) throw new GatewayError('refused', 'This vendor begins subscriptions only on its own page.');
    if (this.declines) throw new GatewayError('refused', 'The card was declined.');
    const known = this.#keys.get(intent.uid) ?? this.keep({ intentUid: intent.uid, planId: intent.remotePlanId ?? '' });
    this.#keys.set(intent.uid, known);
    this.note('after create');
    return known;
  }

  forgetKeys(): void {
    this.#keys.clear();
  }

  get(id: string): KeptSubscription {
    const found = this.subscriptions.find((one) => one.id === id);
    if (!found) throw new GatewayError('refused', `There is no ${id}.`);
    return found;
  }

  page(cursor: string | null): RemoteSubscriptionPage {
    this.note('list');
    const from = Number(cursor ?? 0);
    const data = this.subscriptions.slice(from, from + PAGE).map((kept) => this.shown(kept));
    const hasMore = this.loops || from + PAGE < this.subscriptions.length;
    return { data, has_more: hasMore, next_cursor: hasMore ? String(this.loops ? 0 : from + PAGE) : null };
  }

  note(call: string): void {
    this.calls.push(call);
    const failure = this.failures.get(call);
    if (failure) throw failure;
  }
}

function stateOf(vendor: RemoteVendor, intent: PaymentIntent): VendorIntent | undefined {
  const { reference, amountMinor, currencyCode } = intent;
  const kept = vendor.subscriptions.find(({ id }) => id === reference);
  if (kept)
    return {
      ...{ intentUid: kept.intentUid, reference: kept.id, status: 'SUCCEEDED', amountMinor, currencyCode },
      remoteSubscriptionId: kept.id,
    };
  const checkout = vendor.checkouts.get(reference ?? '');
  if (!checkout) return undefined;
  return {
    ...{ intentUid: checkout.intent.uid, reference: checkout.id, status: checkout.isPaid ? 'SUCCEEDED' : 'PENDING' },
    ...{ amountMinor: checkout.intent.amountMinor, currencyCode: checkout.intent.currencyCode },
    ...(checkout.subscriptionId !== undefined && { remoteSubscriptionId: checkout.subscriptionId }),
    ...(checkout.saves && checkout.isPaid && { savedMethod: { card: 'card_1' } }),
  };
}

/** Registers it for the plugin `acme/subs`; each use asks which vendor it is. */
export function useRemoteVendor(hooks: HookBus, current: () => RemoteVendor): void {
  withHooks(hooks, {
    name: 'acme/subs',
    boot: (registration) =>
      registration.add('register_payment_gateway', {
        ...{ type: 'acme-subs', name: 'Acme Subscriptions', description: 'Keeps subscriptions.' },
        ...{ isRemoteSubscription: true, configKeys: [], secretKeys: [], currencies: ['EUR', 'JPY'] },
        validate: () => ({ ok: true, data: {} }),
        serviceFactory: () => serviceOf(current),
      }),
  });
}

function serviceOf(current: () => RemoteVendor) {
  return {
    getCheckoutUrl: ({ token }: PaymentIntent) => `/plugins/acme/subs/go/${token}`,
    getMethodTitle: (method: PaymentMethodData | null) => (method ? 'Visa' : 'Card'),
    getMethodInfo: () => 'ends in 4242',
    async getIntentState(intent: PaymentIntent) {
      current().note('read');
      await current().readWaits.get(intent.reference ?? '');
      return stateOf(current(), intent);
    },
    test: async () => ({ ok: true as const }),
    createSubscription: async (intent: PaymentIntent) => current().shown(current().create(intent)),
    async getRemotePlans() {
      current().note('plans');
      return current().plans;
    },
    async getRemoteSubscription(id: string) {
      current().note('get');
      const found = current().subscriptions.find((one) => one.id === id);
      return found && current().shown(found);
    },
    async getRemoteSubscriptions(cursor: string | null) {
      const page = current().page(cursor);
      await current().listWaits;
      return page;
    },
    async cancelRemoteSubscription(id: string) {
      current().note('cancel');
      const kept = current().get(id);
      if (kept.status === 'canceled') throw new GatewayError('refused', 'It is canceled.');
      kept.status = 'canceled';
      current().note('after cancel');
      return current().shown(kept);
    },
    async updateRemoteSubscriptionPlan(id: string, planId: string) {
      current().note('update');
      const kept = current().get(id);
      if (!current().waitsForPayer) kept.planId = planId;
      return current().shown(kept);
    },
    ...(current().tellsPeriods && {
      getRemotePeriods: async (id: string, cursor: string | null) => current().periodsPage(id, cursor),
    }),
    ...(current().givesIds && { getMethodId: (method: PaymentMethodData) => method['card'] ?? '' }),
    getRemotePaymentMethod: async (_id: string) => ({ card: 'card_1' }),
  };
}
