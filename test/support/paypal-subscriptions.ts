/**
 * The subscriptions of the PayPal double: begun by the merchant, agreed to by the payer, billed period by period, cancelled, moved to another plan;
 * their payments are listed by time only, as at PayPal.
 */
import { periodEnd, storedUnit } from '../../src/domain/billing/subscriptions/period.ts';
import { missing, objectOf, page, PAYER, problem, type Answer, type Values } from './paypal-answers.ts';

interface Request {
  readonly method: string;
  readonly url: URL;
  readonly id: string;
  readonly act: string;
  readonly form: Values;
}

export class PayPalSubscriptions {
  readonly list: Values[] = [];
  readonly plans: Values[] = [];
  /** By subscription, the earliest first. */
  readonly transactions = new Map<string, Values[]>();
  /** Where the payer agrees. */
  host = '';
  #made = 0;

  answer({ method, url, id, act, form }: Request): Answer {
    if (id === '') return method === 'POST' ? this.#begin(form) : page(url, 'subscriptions', this.list);
    const found = this.list.find((one) => one['id'] === id);
    if (!found) return missing();
    if (act === 'transactions') return this.#paidBetween(url, id);
    if (act === 'cancel') return this.#cancel(found, form);
    if (act === 'revise') found['plan_id'] = form['plan_id'];
    const plan = url.searchParams.get('fields') === 'plan' && { plan: this.#planOf(found) };
    return { status: 200, body: { ...found, ...plan } };
  }

  /** The payer agrees, and PayPal takes the money for the first period now or later. */
  approve(id: string, at: Date, isPaid = true): void {
    const found = this.#get(id);
    if (found['status'] !== 'APPROVAL_PENDING') throw new Error('This subscription cannot be approved.');
    Object.assign(found, {
      status: 'ACTIVE',
      start_time: at.toISOString(),
      links: [],
      subscriber: { payer_id: PAYER },
    });
    this.#bill(found, 1);
    if (isPaid) this.pay(id, at);
  }

  /** The next period begins; PayPal takes the money for it, or does not get it. */
  renew(id: string, isPaid = true): void {
    const found = this.#get(id);
    const began = new Date(String(objectOf(found['billing_info'])['next_billing_time']));
    this.#bill(found, Number(found['quantity_of_periods']) + 1);
    if (isPaid) this.pay(id, began);
  }

  /** Money comes, also for a period that is over. */
  pay(id: string, at: Date, value = this.#priceOf(this.#get(id)), status = 'COMPLETED'): void {
    const all = this.transactions.get(id) ?? [];
    this.#made += 1;
    const gross = { currency_code: 'EUR', value };
    all.push({ id: `T-${this.#made}`, status, time: at.toISOString(), amount_with_breakdown: { gross_amount: gross } });
    this.transactions.set(id, all);
  }

  #begin(form: Values): Answer {
    const { plan_id: planId, custom_id: customId, application_context: context } = form;
    if (!this.plans.some(({ id }) => id === planId)) return missing();
    if (typeof objectOf(context)['return_url'] !== 'string')
      return problem(400, 'MISSING_REQUIRED_PARAMETER', 'return_url is required.');
    this.#made += 1;
    const id = `I-NEW${this.#made}`;
    const links = [{ rel: 'approve', href: `http://${this.host}/webapps/billing/subscriptions?ba_token=${id}` }];
    const made = { id, plan_id: planId, custom_id: customId, status: 'APPROVAL_PENDING', links };
    this.list.push(made);
    return { status: 201, body: made };
  }

  #paidBetween(url: URL, id: string): Answer {
    const [from, to] = ['start_time', 'end_time'].map((name) => new Date(url.searchParams.get(name) ?? ''));
    if (!from || !to || Number.isNaN(from.getTime() + to.getTime()))
      return problem(400, 'INVALID_PARAMETER_SYNTAX', 'The value of a field does not conform to the expected format.');
    const all = this.transactions.get(id) ?? [];
    const transactions = all.filter(({ time }) => new Date(String(time)) >= from && new Date(String(time)) <= to);
    return { status: 200, body: { transactions: transactions.toReversed(), links: [] } };
  }

  /** The payer cancels it at PayPal. */
  end(id: string): void {
    this.#cancel(this.#get(id), { reason: 'By the payer.' });
  }

  #cancel(subscription: Values, form: Values): Answer {
    if (typeof form['reason'] !== 'string' || form['reason'] === '')
      return problem(400, 'MISSING_REQUIRED_PARAMETER', 'reason is required.');
    if (subscription['status'] !== 'ACTIVE' && subscription['status'] !== 'SUSPENDED')
      return problem(422, 'SUBSCRIPTION_STATUS_INVALID', 'Invalid subscription status for cancel action.');
    subscription['status'] = 'CANCELLED';
    const { next_billing_time: _, ...info } = objectOf(subscription['billing_info']);
    subscription['billing_info'] = info;
    return { status: 204, body: null };
  }

  #bill(subscription: Values, periods: number): void {
    const frequency = objectOf(this.#cycleOf(subscription)['frequency']);
    const unit = storedUnit(String(frequency['interval_unit']).toLowerCase());
    const end = periodEnd(new Date(String(subscription['start_time'])), { amount: 1, unit }, periods);
    Object.assign(subscription, {
      quantity_of_periods: periods,
      billing_info: { next_billing_time: end.toISOString() },
    });
  }

  #priceOf(subscription: Values): string {
    const { fixed_price: price } = objectOf(this.#cycleOf(subscription)['pricing_scheme']);
    return String(objectOf(price)['value']);
  }

  #cycleOf(subscription: Values): Values {
    const cycles = this.#planOf(subscription)?.['billing_cycles'];
    return objectOf(Array.isArray(cycles) ? cycles[0] : undefined);
  }

  #planOf({ plan_id: planId }: Values): Values | undefined {
    return this.plans.find(({ id }) => id === planId);
  }

  #get(id: string): Values {
    const found = this.list.find((one) => one['id'] === id);
    if (!found) throw new Error(`There is no ${id}.`);
    return found;
  }
}
