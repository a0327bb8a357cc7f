/**
 * A payment gateway with a vendor that lives in this process: objects that can be paid, declined, paid late and paid back. The tests act as
 * the customer at the vendor, and break it.
 */
import type { HookBus } from '../../src/plugin-host/hook-bus.ts';
import { withHooks } from './with-hooks.ts';
import { GatewayError, type PaymentGatewayRegistration, type VendorIntent } from '../../src/plugin-api/index.ts';

export interface VendorObject {
  readonly id: string;
  status: VendorIntent['status'];
  isProcessing: boolean;
  intentUid: string | null;
  amountMinor: bigint;
  currencyCode: string;
  refundedMinor: bigint;
  charges: number;
  saves: boolean;
  /** A decline that will be one every time. */
  isPermanent: boolean;
  /** What it saves then. */
  card: string;
  expires?: string;
}

export class PayVendor {
  readonly objects = new Map<string, VendorObject>();
  readonly calls: string[] = [];
  /** Objects by idempotency key. */
  readonly #keys = new Map<string, VendorObject>();
  readonly removed: string[] = [];
  /** What the next calls of this name throw. */
  readonly failures = new Map<string, Error>();
  /** What a charge of a saved card leads to. */
  chargeResult: VendorIntent['status'] = 'SUCCEEDED';
  declinesForEver = false;
  /** Runs between the charge and the answer, where a process may die. */
  afterCharge: () => void = () => undefined;
  /** Runs between the reading and the answer. */
  afterRead: () => void = () => undefined;
  title = 'Visa';
  isWell = true;

  create(key: string, given: { intentUid: string; amountMinor: bigint; currencyCode: string }): VendorObject {
    this.note('create');
    const known = this.#keys.get(key);
    if (known) return known;
    const id = `obj_${this.objects.size + 1}`;
    const made: VendorObject = {
      ...{ id, status: 'PENDING', isProcessing: false, refundedMinor: 0n, charges: 0, saves: false },
      ...{ isPermanent: false, card: 'card_1' },
      ...given,
    };
    this.#keys.set(key, made);
    this.objects.set(id, made);
    return made;
  }

  charge(id: string): VendorObject {
    this.note('charge');
    const found = this.get(id);
    // The same key is the same charge.
    if (found.charges === 0) {
      found.charges += 1;
      found.status = this.chargeResult;
      found.isPermanent = this.declinesForEver;
    }
    this.afterCharge();
    return found;
  }

  get(id: string): VendorObject {
    const found = this.objects.get(id);
    if (!found) throw new GatewayError('refused', `There is no ${id}.`);
    return found;
  }

  note(call: string): void {
    this.calls.push(call);
    const failure = this.failures.get(call);
    if (failure) throw failure;
  }
}

function stateOf(object: VendorObject): VendorIntent {
  const { id, status, isProcessing, intentUid, amountMinor, currencyCode, refundedMinor, isPermanent } = object;
  const { saves, card, expires } = object;
  return {
    ...{ reference: id, status, isProcessing, intentUid, amountMinor, currencyCode, refundedMinor },
    isPermanent,
    reason: status === 'FAILED' ? 'The card was declined.' : null,
    ...(saves && status === 'SUCCEEDED' ? { savedMethod: { card, ...(expires !== undefined && { expires }) } } : {}),
  };
}

/** Its service is an instance of a class: no function of it may be lost. */
class PayService {
  readonly #vendor: PayVendor;
  constructor(vendor: PayVendor) {
    this.#vendor = vendor;
  }
  getCheckoutUrl(intent: { token: string }) {
    return `/plugins/acme/pay/go/${intent.token}`;
  }
  getMethodTitle(method: object | null) {
    return method ? this.#vendor.title : 'Card';
  }
  getMethodInfo(method: Readonly<Record<string, string>> | null) {
    const expires = method?.['expires'];
    return `ends in 4242${expires === undefined ? '' : `, ${expires}`}`;
  }
  getMethodId({ card }: Readonly<Record<string, string>>) {
    return card ?? '';
  }
  async getIntentState({ reference }: { reference: string | null }) {
    this.#vendor.note('read');
    const found = this.#vendor.objects.get(reference ?? '');
    const state = found && stateOf(found);
    this.#vendor.afterRead();
    return state;
  }
  async cancelIntent({ reference }: { reference: string | null }) {
    this.#vendor.note('cancel');
    const object = this.#vendor.get(reference ?? '');
    if (object.status !== 'SUCCEEDED') object.status = 'CANCELLED';
  }
  async prepareCharge(intent: { uid: string; amountMinor: bigint; currencyCode: string }) {
    const { uid: intentUid, amountMinor, currencyCode } = intent;
    return { reference: this.#vendor.create(`charge-${intentUid}`, { intentUid, amountMinor, currencyCode }).id };
  }
  async autoCharge({ reference }: { reference: string | null }) {
    return stateOf(this.#vendor.charge(reference ?? ''));
  }
  async removeMethod({ card }: Readonly<Record<string, string>>) {
    this.#vendor.note('remove');
    this.#vendor.removed.push(card ?? '');
  }
  async test() {
    return this.#vendor.isWell ? { ok: true as const } : { ok: false as const, message: 'The key is not known.' };
  }
}

export function payGateway(vendor: PayVendor): PaymentGatewayRegistration {
  return {
    type: 'acme-pay',
    name: 'Acme Pay',
    description: 'Pays.',
    configKeys: ['account', 'key'],
    secretKeys: ['key'],
    currencies: ['EUR', 'JPY'],
    validate: ({ account, key }) =>
      typeof key === 'string' && key.startsWith('sk_')
        ? { ok: true, data: { account: typeof account === 'string' ? account : '', key } }
        : { ok: false, errors: { key: ['The key begins with sk_.'] } },
    serviceFactory: () => {
      const failure = vendor.failures.get('factory');
      if (failure) throw failure;
      return new PayService(vendor);
    },
  };
}

/** Registers it for the plugin `acme/pay`; each use asks which vendor it is. */
export function usePayGateway(hooks: HookBus, vendor: () => PayVendor): void {
  withHooks(hooks, {
    name: 'acme/pay',
    boot: (registration) =>
      registration.add('register_payment_gateway', {
        ...payGateway(vendor()),
        validate: (settings) => payGateway(vendor()).validate(settings),
        serviceFactory: (record) => payGateway(vendor()).serviceFactory(record),
      }),
  });
}
