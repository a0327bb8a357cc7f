/**
 * The contract of a payment gateway: how an invoice is paid (specification 3.6, 4.13). The host keeps the books. It reads the vendor's
 * state through the gateway, compares it and moves its own intent; a gateway never changes an intent, and no webhook is needed.
 *
 * Amounts are whole minor units of ISO 4217 (`1999n` of EUR is 19.99, `1999n` of JPY is 1999), always with their currency.
 */
import type { ConnectionTest } from './sending-driver.ts';
import type { FieldErrors } from '../lib/errors.ts';

export type IntentStatus =
  | 'PENDING'
  | 'REQUIRES_ACTION'
  | 'AWAITING_ADMIN_APPROVAL'
  | 'SUCCEEDED'
  | 'FAILED'
  | 'CANCELLED';

/** One try to pay one invoice, as the host keeps it. */
export interface PaymentIntent {
  /** Sent to the vendor as custom data, and mapped back by every read. Letters and digits, unique. */
  readonly uid: string;
  /** For the address of the plugin's own route: `services.payments.openCheckout(token)` gives the intent back. Expires after a day. */
  readonly token: string;
  readonly status: IntentStatus;
  readonly amountMinor: bigint;
  /** ISO 4217, three capitals. */
  readonly currencyCode: string;
  /** Digits after the decimal point in ISO 4217. */
  readonly currencyDigits: number;
  /** The vendor's id of the object that is paid; null: none was saved yet. */
  readonly reference: string | null;
  readonly invoiceUid: string;
  /**
   * The vendor's plan that an administrator has linked with the plan to be paid: the checkout, or `createSubscription`, begins a subscription for
   * it at the vendor, whose object carries `uid`. Null: it is a single payment.
   */
  readonly remotePlanId: string | null;
  /** For the vendor's page and the statement: the plan's name. */
  readonly description: string;
  readonly customer: { readonly uid: string; readonly name: string };
}

/** What a vendor needs to charge again: its ids of payer and card, never a card's number. Stored by the host. */
export type PaymentMethodData = Readonly<Record<string, string>>;

/** What the vendor says about an intent. */
export interface VendorIntent {
  /** The uid that the vendor's object carries as custom data; null: it carries none. The host refuses that of another intent. */
  readonly intentUid: string | null;
  /** The vendor's id; must be the intent's `reference`. */
  readonly reference: string;
  readonly status: 'PENDING' | 'REQUIRES_ACTION' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
  /**
   * With `PENDING`: the payer has done everything and the money is on its way, such as the debit of a bank account, which takes days. Nothing may
   * take its place then. Without it, a charge that is `PENDING` for a day was never confirmed, and is cancelled.
   */
  readonly isProcessing?: boolean;
  /** Of the vendor's object. The host accepts a payment only if both are those of the intent. */
  readonly amountMinor: bigint;
  readonly currencyCode: string;
  /** What of it was paid back at the vendor; absent: nothing. */
  readonly refundedMinor?: bigint;
  /** Why it failed, in a sentence for the customer. */
  readonly reason?: string | null;
  /**
   * With `FAILED`, of a charge of a saved method: it will be refused every time, as a stolen or expired card. It is not tried again then. Without
   * it, the host tries again on some of the days of grace.
   */
  readonly isPermanent?: boolean;
  /** The payer agreed to later charges: what `autoCharge` needs for them. */
  readonly savedMethod?: PaymentMethodData;
  /** Of an intent with `remotePlanId`: the vendor's id of the subscription that the payment has begun. The host reads it at once then. */
  readonly remoteSubscriptionId?: string;
}

/** Why a vendor did not do what it was asked for. Any other error is a fault of the plugin and is logged as one. */
export class GatewayError extends Error {
  /** `refused`: the vendor said no, and saying it again is useless. `unavailable`: nobody knows; the host reads the state later. */
  readonly kind: 'refused' | 'unavailable';

  constructor(kind: 'refused' | 'unavailable', message: string) {
    super(message);
    this.name = 'GatewayError';
    this.kind = kind;
  }
}

/** What every gateway does. Functions that call the vendor have 30 seconds. */
export interface IntentGateway {
  /** Without side effects and at once: a path of the plugin's own route, `/plugins/<vendor>/<name>/…`, which calls the vendor. */
  getCheckoutUrl(intent: PaymentIntent, returnUrl: string): string;
  /** Words of the button, such as `Card`; with the data of a saved method its name, such as `Visa`. */
  getMethodTitle(method: PaymentMethodData | null): string;
  /** More about it, such as `ends in 4242, 12/2030`; may be empty. */
  getMethodInfo(method: PaymentMethodData | null): string;
  /**
   * Reads the vendor's state, by `intent.reference`. Changes nothing, with one exception: a vendor that keeps an approved payment until it is
   * captured is told to capture it here, with an idempotency key. Undefined: the vendor does not know the object.
   */
  getIntentState(intent: PaymentIntent): Promise<VendorIntent | undefined>;
  /** Makes the vendor's object unpayable. Doing it twice is harmless; one that was paid stays paid, which the next read says. */
  cancelIntent?(intent: PaymentIntent): Promise<void>;
  /** Calls a real endpoint of the vendor that needs the credentials. */
  test(): Promise<ConnectionTest>;
}

/** Charging a saved method while the customer is away. Both steps may be repeated: each has one idempotency key for all its attempts. */
export interface AutoChargeGateway {
  /** Makes the vendor's object, which moves no money. The host commits its id as `reference` before it goes on. */
  prepareCharge(intent: PaymentIntent, method: PaymentMethodData): Promise<{ readonly reference: string }>;
  /**
   * Charges `intent.reference`. A decline is an answer with `FAILED`, a challenge one with `REQUIRES_ACTION`. A GatewayError `refused` is a
   * permanent refusal. A later try is another intent with another uid.
   */
  autoCharge(intent: PaymentIntent, method: PaymentMethodData): Promise<VendorIntent>;
  /**
   * What recognises a method: the vendor's id, which stays when the card is renewed. The host keeps a method once, takes over what has changed
   * (`expires`, `last4`), and does not bring a removed one back. Absent: all of the data, so that a renewed card is another method.
   */
  getMethodId?(method: PaymentMethodData): string;
  /** The customer is gone: the vendor deletes the method. Doing it twice is harmless. */
  removeMethod?(method: PaymentMethodData): Promise<void>;
}

/** Subscriptions that are made without the customer's browser. */
export interface SubscriptionGateway {
  /**
   * Makes a subscription for `intent.remotePlanId` and takes the money of its first period, with one idempotency key for all attempts. The host
   * saves its id as `reference` and asks `getIntentState` about it. Throws GatewayError `refused` for vendors that only have a hosted checkout,
   * and when the method is declined.
   */
  createSubscription(intent: PaymentIntent, method: PaymentMethodData): Promise<RemoteSubscription>;
}

export interface RemotePlan {
  readonly id: string;
  readonly name: string;
  readonly amountMinor: bigint;
  readonly currencyCode: string;
  readonly frequencyAmount: number;
  readonly frequencyUnit: 'day' | 'week' | 'month' | 'year';
}

/** Money that a vendor has taken for a period. */
export interface PeriodPayment {
  readonly amountMinor: bigint;
  readonly currencyCode: string;
  /** What of it was paid back; absent: nothing, or the vendor does not say. The period stays paid, but what went back becomes no credit. */
  readonly refundedMinor?: bigint | undefined;
}

export interface RemoteSubscription {
  readonly id: string;
  /** The uid that it carries as custom data. */
  readonly intentUid: string | null;
  /** The vendor's own word. */
  readonly status: string;
  readonly isActive: boolean;
  /** It never takes money again; absent: `!isActive`. One that is suspended, or whose payment is overdue, has not ended. */
  readonly isEnded?: boolean;
  readonly planId: string | null;
  readonly currentPeriodEndsAt: Date | null;
  /** When its first period began. The host counts the periods that it has missed from here; absent: from when the payment was begun here. */
  readonly startedAt?: Date;
  /**
   * What was paid for the period that ends at `currentPeriodEndsAt`; null: it is not paid yet. The host counts a period as paid only if amount and
   * currency are those of the plan; other money is credit. Absent: it is paid while the subscription is active, and `planId` must be a linked plan.
   */
  readonly periodPayment?: PeriodPayment | null;
}

/** A page of them; the host asks with `next_cursor` until `has_more` is false. */
export interface RemoteSubscriptionPage {
  readonly data: readonly RemoteSubscription[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** A period of a vendor's subscription that has begun. */
export interface RemotePeriod {
  /** What `currentPeriodEndsAt` was in it. */
  readonly endsAt: Date;
  /** What was paid for it; null: nothing, or not yet. */
  readonly payment: PeriodPayment | null;
}

export interface RemotePeriodPage {
  readonly data: readonly RemotePeriod[];
  readonly has_more: boolean;
  readonly next_cursor: string | null;
}

/** Vendors that own the state of subscriptions: needs `isRemoteSubscription` in the registration. */
export interface RemoteSubscriptionGateway {
  getRemotePlans(): Promise<readonly RemotePlan[]>;
  getRemoteSubscription(id: string): Promise<RemoteSubscription | undefined>;
  getRemoteSubscriptions(cursor: string | null): Promise<RemoteSubscriptionPage>;
  /**
   * The periods of one subscription, the latest first: the host asks after it has missed some, with `next_cursor` until `has_more` is false or the
   * last one that it has counted is reached. Absent: what lies between that one and a present period that is paid counts as paid, too.
   */
  getRemotePeriods?(id: string, cursor: string | null): Promise<RemotePeriodPage>;
  /** At once; what was paid is not paid back. Doing it twice is harmless. */
  cancelRemoteSubscription(id: string): Promise<RemoteSubscription>;
  /** From the next period on: nothing is charged or paid back for the present one. The answer has the plan of before if the payer must agree first. */
  updateRemoteSubscriptionPlan(id: string, planId: string): Promise<RemoteSubscription>;
  /** For `getMethodTitle` and `getMethodInfo`; undefined: the vendor does not say. */
  getRemotePaymentMethod(id: string): Promise<PaymentMethodData | undefined>;
}

/** The host asks for each capability by its functions; a class is as good as an object. */
export type PaymentGatewayService = IntentGateway &
  Partial<AutoChargeGateway> &
  Partial<SubscriptionGateway> &
  Partial<RemoteSubscriptionGateway>;

export type GatewayData = Readonly<Record<string, string | number | boolean>>;

/** A gateway as an administrator has set it up. */
export interface GatewayRecord {
  readonly uid: string;
  readonly type: string;
  readonly name: string;
  /** Credentials and other settings by `configKeys`. */
  readonly data: GatewayData;
}

export type GatewayCheck =
  | { readonly ok: true; readonly data: GatewayData }
  | { readonly ok: false; readonly errors: FieldErrors };

/** The entry a plugin adds under the registry hook `register_payment_gateway`: the parameters of `Billing::register`, and what a form needs. */
export interface PaymentGatewayRegistration {
  /** Slug: `stripe`. One plugin provides a type. */
  readonly type: string;
  readonly name: string;
  readonly description: string;
  /** Makes the service of a record whose settings passed `validate`. Opens nothing. */
  serviceFactory(gateway: GatewayRecord): PaymentGatewayService;
  /** Name of the picker's icon; `payment` if absent. */
  readonly icon?: string;
  /** It has the functions of RemoteSubscriptionGateway; false if absent. */
  readonly isRemoteSubscription?: boolean;
  /** A page of the plugin (hook `page`) that helps to set it up; empty if absent: the form is made from `configKeys`. */
  readonly formView?: string;
  /** Keys of the settings, in the order of the form; the host refuses others. */
  readonly configKeys: readonly string[];
  /** Those that are credentials: stored encrypted, never returned. */
  readonly secretKeys: readonly string[];
  /** ISO 4217 codes that it takes. An invoice in any other is refused before the gateway is asked. */
  readonly currencies: readonly string[];
  /** Checks and normalises the settings; errors are named by key. Without side effects. */
  validate(settings: Readonly<Record<string, unknown>>): GatewayCheck;
}

/** A checkout that a browser has begun, for the plugin's route. */
export interface OpenedCheckout {
  readonly intent: PaymentIntent;
  readonly gateway: GatewayRecord;
  /** A path of this installation: where the vendor sends the browser back to, after its own origin. */
  readonly returnUrl: string;
  /** The same with scheme and host, for vendors. */
  readonly absoluteReturnUrl: string;
}

/** The member `payments` of `services`: for the route of a gateway. Only intents of the plugin's own gateways. */
export interface PaymentsService {
  /**
   * The checkout of a token; undefined: unknown, expired, of another plugin, no longer open, or the installation is on hold. The route then
   * answers that the link does not work.
   */
  openCheckout(token: string): Promise<OpenedCheckout | undefined>;
  /**
   * Saves the vendor's id of the object that is going to be paid, before the browser is sent there. False: the intent is no longer open, or has
   * another id; the browser must not be sent there then.
   */
  saveReference(intentUid: string, reference: string): Promise<boolean>;
}
