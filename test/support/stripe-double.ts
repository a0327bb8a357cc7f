/**
 * A server that behaves as Stripe's documents say: keys, forms, one result for an idempotency key (other parameters with it are an error, an
 * attempt beside a running one is a 409), Checkout Sessions that a payer opens, saved cards that are charged off-session with declines and
 * challenges, refunds, subscriptions in pages. It keeps its state.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { localServer } from './local-server.ts';
import { missing, nested, objectOf, ok, problem, type Values } from './stripe-forms.ts';

export const STRIPE_KEY = 'sk_test_abcdefghij0123456789';

interface Stored {
  readonly form: string;
  readonly status: number;
  readonly body: Values;
}

/** What happens to a card when it is charged off-session. */
export type CardMood = 'pays' | 'declines' | 'stolen' | 'challenges';

export class StripeDouble {
  readonly sessions = new Map<string, Values>();
  readonly payments = new Map<string, Values>();
  readonly cards = new Map<string, { mood: CardMood; customer: string | null }>();
  readonly subscriptions: Values[] = [];
  readonly prices: Values[] = [];
  /** The newest first. */
  readonly invoices: Values[] = [];
  readonly requests: string[] = [];
  /** Charges that moved money, by payment intent. */
  readonly charges: string[] = [];
  /** Answers of the next requests whose path contains the key, before or after they had their effect. */
  readonly faults: { path: string; after: boolean; act: (res: ServerResponse) => void }[] = [];
  readonly #keys = new Map<string, Stored>();
  readonly #running = new Set<string>();
  host = '';
  /** Of all cards: their bank may renew them. */
  expYear = 2030;
  #made = 0;

  async start(): Promise<this> {
    this.host = await localServer((req, res) => this.#serve(req, res));
    return this;
  }

  /** The payer's card at the checkout. */
  pay(sessionId: string, mood: CardMood = 'pays'): void {
    const session = this.sessions.get(sessionId);
    if (!session || session['status'] !== 'open') throw new Error('This checkout cannot be paid.');
    if (session['mode'] === 'subscription') return this.#paySubscription(session);
    const card = this.#id('pm');
    const form = session['payment_intent_data'];
    const saves = typeof form === 'object' && form !== null && 'setup_future_usage' in form;
    const customer = saves ? this.#id('cus') : null;
    this.cards.set(card, { mood, customer });
    const payment = this.#newPayment({
      amount: session['amount_total'],
      currency: session['currency'],
      customer,
      payment_method: card,
      setup_future_usage: saves ? 'off_session' : null,
      metadata: session['metadata'],
    });
    this.#paid(payment);
    Object.assign(session, { status: 'complete', payment_status: 'paid', payment_intent: payment['id'] });
  }

  /** The next period begins; its invoice is paid, or stays open. */
  renew(id: string, isPaid: boolean): void {
    const subscription = this.subscriptions.find((one) => one['id'] === id) ?? {};
    const [item] = Object.values(objectOf(objectOf(subscription['items'])['data'])).map(objectOf);
    const end = Number(item?.['current_period_end']) + 30 * 86_400;
    const data = [{ ...item, current_period_end: end }];
    const amount = objectOf(item?.['price'])['unit_amount'];
    const paid = isPaid ? { status: 'paid', amount_paid: amount } : { status: 'open', amount_paid: 0 };
    const status = isPaid ? 'active' : 'past_due';
    const latest = { ...objectOf(subscription['latest_invoice']), ...paid, billing_reason: 'subscription_cycle' };
    Object.assign(subscription, { status, items: { data }, latest_invoice: this.#invoice(id, end, latest) });
  }

  #invoice(subscription: string, end: number, values: Values): Values {
    const made = { ...values, id: this.#id('in'), subscription, lines: { data: [{ period: { end } }] } };
    this.invoices.unshift(made);
    return made;
  }

  #paySubscription(session: Values): void {
    const { id } = this.#subscribe(session['price'], session['subscription_metadata'], this.#id('cus'));
    Object.assign(session, { status: 'complete', payment_status: 'paid', subscription: id });
  }

  #subscribe(priceId: unknown, metadata: unknown, customer: unknown): Values {
    const price = this.prices.find((one) => one['id'] === priceId) ?? {};
    const amount = price['unit_amount'];
    const end = Math.floor(Date.now() / 1_000) + 30 * 86_400;
    const id = this.#id('sub');
    const made = {
      ...{ id, status: 'active', metadata, customer },
      items: { data: [{ id: this.#id('si'), current_period_end: end, price }] },
      latest_invoice: this.#invoice(id, end, {
        ...{ status: 'paid', amount_paid: amount, amount_due: amount, currency: price['currency'] },
        billing_reason: 'subscription_create',
      }),
    };
    this.subscriptions.push(made);
    return made;
  }

  /** The payer gives a bank account instead of a card: `processing` for days, then `succeeded`, `requires_payment_method` or `canceled`. */
  debit(sessionId: string, status: 'processing' | 'succeeded' | 'requires_payment_method' | 'canceled'): void {
    const session = this.sessions.get(sessionId);
    if (!session) throw new Error('There is no such checkout.');
    const [amount, currency, metadata] = [session['amount_total'], session['currency'], session['metadata']];
    const payment =
      this.payments.get(String(session['payment_intent'])) ?? this.#newPayment({ amount, currency, metadata });
    if (status === 'succeeded') this.#paid(payment);
    else Object.assign(payment, { status });
    const paid = status === 'succeeded' ? 'paid' : 'unpaid';
    Object.assign(session, { status: 'complete', payment_status: paid, url: null, payment_intent: payment['id'] });
  }

  expire(sessionId: string): void {
    Object.assign(this.sessions.get(sessionId) ?? {}, { status: 'expired', url: null });
  }

  refund(sessionId: string, amount: number): void {
    const payment = this.payments.get(String(this.sessions.get(sessionId)?.['payment_intent']));
    Object.assign(payment?.['charge'] ?? {}, { amount_refunded: amount });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '', 'http://x');
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { method = '' } = req;
    this.requests.push(`${method} ${url.pathname}`);
    const fault = this.faults.findIndex(({ path }) => url.pathname.includes(path));
    const [found] = fault === -1 ? [] : this.faults.splice(fault, 1);
    if (found && !found.after) return found.act(res);
    const { status, body } = await this.#answer(req, { method, url, text });
    if (found) return found.act(res);
    res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  }

  async #answer(req: IncomingMessage, { method, url, text }: { method: string; url: URL; text: string }) {
    if (req.headers.authorization !== `Bearer ${STRIPE_KEY}`)
      return problem(401, { type: 'invalid_request_error', message: 'Invalid API Key provided: sk_test_****6789' });
    const path = url.pathname.replace(/^\/v1/, '');
    const key = String(req.headers['idempotency-key'] ?? '');
    if (method !== 'POST') return this.#act(method, path, nested(url.searchParams));
    if (key === '' || key.length > 255)
      return problem(400, { type: 'invalid_request_error', message: 'The idempotency key is wrong.' });
    const form = `${path} ${text}`;
    const known = this.#keys.get(key);
    if (known?.form === form) return known;
    if (known)
      return problem(400, {
        type: 'idempotency_error',
        message: 'Keys for idempotent requests can only be used with the same parameters.',
      });
    if (this.#running.has(key))
      return problem(409, { type: 'idempotency_error', message: 'There is another request with this key.' });
    this.#running.add(key);
    // Others arrive meanwhile.
    await new Promise((done) => setTimeout(done, 5));
    const answer = this.#act(method, path, nested(new URLSearchParams(text)));
    this.#running.delete(key);
    this.#keys.set(key, { form, ...answer });
    return answer;
  }

  #act(method: string, path: string, form: Values): { status: number; body: Values } {
    const [, noun = '', id = '', act = ''] =
      /^\/(checkout\/sessions|[a-z_]+)(?:\/([\w]+))?(?:\/(\w+))?$/.exec(path) ?? [];
    const route = `${method} ${noun}${id === '' ? '' : '/:id'}${act === '' ? '' : `/${act}`}`;
    switch (route) {
      case 'GET balance':
        return ok({ object: 'balance' });
      case 'POST checkout/sessions':
        return this.#newSession(form);
      case 'GET checkout/sessions/:id':
        return this.#found(this.sessions.get(id), form);
      case 'POST checkout/sessions/:id/expire':
        if (this.sessions.get(id)?.['status'] !== 'open')
          return problem(400, { type: 'invalid_request_error', message: 'Only open sessions can be expired.' });
        this.expire(id);
        return this.#found(this.sessions.get(id), form);
      case 'POST payment_intents':
        return ok(this.#shown(this.#newPayment({ ...form, amount: Number(form['amount']) }), form));
      case 'GET payment_intents/:id':
        return this.#found(this.payments.get(id), form);
      case 'POST payment_intents/:id/confirm':
        return this.#confirm(this.payments.get(id), form);
      case 'POST payment_intents/:id/cancel':
        return this.#cancel(this.payments.get(id), form);
      case 'POST payment_methods/:id/detach':
        if (!this.cards.delete(id)) return missing(id);
        return ok({ id });
      case 'POST subscriptions': {
        const card = this.cards.get(String(form['default_payment_method']));
        if (card?.mood !== 'pays')
          return problem(402, { type: 'card_error', code: 'card_declined', message: 'Your card was declined.' });
        const [item] = Object.values(objectOf(form['items'])).map(objectOf);
        return ok(this.#subscribe(item?.['price'], form['metadata'], form['customer']));
      }
      case 'GET subscriptions':
        return this.#page(this.subscriptions, form);
      case 'GET invoices': {
        const own = this.invoices.filter(({ subscription }) => subscription === form['subscription']);
        return this.#page(own, form);
      }
      case 'GET prices':
        return this.#page(this.prices, form);
      case 'GET subscriptions/:id':
        return this.#found(
          this.subscriptions.find((one) => one['id'] === id),
          form,
        );
      case 'POST subscriptions/:id':
        return this.#move(
          this.subscriptions.find((one) => one['id'] === id),
          form,
        );
      case 'DELETE subscriptions/:id': {
        const subscription = this.subscriptions.find((one) => one['id'] === id);
        return subscription ? ok(Object.assign(subscription, { status: 'canceled' })) : missing(id);
      }
      default:
        return problem(404, { type: 'invalid_request_error', message: `Unrecognized request URL (${route}).` });
    }
  }

  #newSession(form: Values) {
    const [line] = Object.values(objectOf(form['line_items']));
    const known = this.prices.find((one) => one['id'] === objectOf(line)['price']);
    if ((form['mode'] === 'subscription') !== (known !== undefined)) return missing(String(objectOf(line)['price']));
    const price = known ?? objectOf(objectOf(line)['price_data']);
    const amount = Number(price['unit_amount']);
    if (!Number.isInteger(amount) || amount < 50)
      return problem(400, {
        type: 'invalid_request_error',
        code: 'amount_too_small',
        message: 'The amount is too small.',
      });
    const id = this.#id('cs_test');
    const session = {
      ...{ id, status: 'open', payment_status: 'unpaid', amount_total: amount, currency: price['currency'] },
      ...{ client_reference_id: form['client_reference_id'], metadata: form['metadata'], payment_intent: null },
      ...{ mode: form['mode'], price: price['id'] },
      subscription_metadata: objectOf(form['subscription_data'])['metadata'],
      ...{ payment_intent_data: form['payment_intent_data'], success_url: form['success_url'] },
      url: `http://${this.host}/c/pay/${id}`,
    };
    this.sessions.set(id, session);
    return ok(session);
  }

  #newPayment(form: Values): Values {
    const id = this.#id('pi');
    const charge = { id: this.#id('ch'), amount_refunded: 0 };
    const payment = {
      id,
      status: 'requires_confirmation',
      amount_received: 0,
      last_payment_error: null,
      charge,
      ...form,
    };
    this.payments.set(id, payment);
    return payment;
  }

  #confirm(payment: Values | undefined, form: Values) {
    if (!payment) return missing('');
    if (payment['status'] !== 'requires_confirmation')
      return problem(400, {
        ...{ type: 'invalid_request_error', code: 'payment_intent_unexpected_state' },
        ...{ message: 'You cannot confirm this PaymentIntent.', payment_intent: this.#shown(payment, form) },
      });
    const card = this.cards.get(String(payment['payment_method']));
    if (card?.mood === 'pays') {
      this.#paid(payment);
      return ok(this.#shown(payment, form));
    }
    const code = card?.mood === 'challenges' ? 'authentication_required' : 'card_declined';
    const error = {
      type: 'card_error',
      code,
      decline_code: code === 'card_declined' ? (card?.mood === 'stolen' ? 'stolen_card' : 'insufficient_funds') : code,
      message: code === 'card_declined' ? 'Your card was declined.' : 'Authentication is needed.',
    };
    Object.assign(payment, { status: 'requires_payment_method', last_payment_error: error });
    return problem(402, { ...error, payment_intent: this.#shown(payment, form) });
  }

  #cancel(payment: Values | undefined, form: Values) {
    if (!payment) return missing('');
    if (payment['status'] === 'succeeded')
      return problem(400, {
        type: 'invalid_request_error',
        code: 'payment_intent_unexpected_state',
        message: 'It succeeded.',
      });
    return ok(this.#shown(Object.assign(payment, { status: 'canceled' }), form));
  }

  #paid(payment: Values): void {
    this.charges.push(String(payment['id']));
    Object.assign(payment, { status: 'succeeded', amount_received: payment['amount'] });
  }

  #found(object: Values | undefined, form: Values) {
    return object ? ok(this.#shown(object, form)) : missing('');
  }

  /** Only what is asked for with `expand` is an object; else it is an id. */
  #shown(object: Values, form: Values): Values {
    const expand = new Set(Object.values(objectOf(form['expand'])).map(String));
    if (String(object['id']).startsWith('sub_') && !expand.has('latest_invoice'))
      return { ...object, latest_invoice: objectOf(object['latest_invoice'])['id'] };
    const isSession = String(object['id']).startsWith('cs_');
    const inner = this.payments.get(String(object['payment_intent']));
    if (isSession && expand.has('payment_intent.payment_method') && inner)
      return {
        ...object,
        payment_intent: this.#payment(inner, {
          withMethod: true,
          withCharge: expand.has('payment_intent.latest_charge'),
        }),
      };
    return isSession
      ? object
      : this.#payment(object, {
          withMethod: expand.has('payment_method'),
          withCharge: expand.has('latest_charge'),
        });
  }

  #payment(payment: Values, { withMethod, withCharge }: { withMethod: boolean; withCharge: boolean }): Values {
    const { charge, ...rest } = payment;
    const method = {
      id: rest['payment_method'],
      type: 'card',
      card: { brand: 'visa', last4: '4242', exp_month: 12, exp_year: this.expYear },
    };
    const hasCharge = rest['status'] === 'succeeded';
    return {
      ...rest,
      ...(withMethod && { payment_method: method }),
      latest_charge: !hasCharge ? null : withCharge ? charge : objectOf(charge)['id'],
    };
  }

  #page(all: readonly Values[], form: Values) {
    const limit = Number(form['limit'] ?? 10);
    if (limit > 100) return problem(400, { type: 'invalid_request_error', message: 'limit is at most 100' });
    const after = all.findIndex((one) => one['id'] === form['starting_after']);
    const data = all.slice(after + 1, after + 1 + limit);
    return ok({ object: 'list', data, has_more: after + 1 + limit < all.length });
  }

  #move(subscription: Values | undefined, form: Values) {
    const [item] = Object.values(objectOf(form['items'])).map(objectOf);
    const price = this.prices.find((one) => one['id'] === item?.['price']);
    const [own] = Object.values(objectOf(objectOf(subscription?.['items'])['data'])).map(objectOf);
    if (!subscription || !price || own?.['id'] !== item?.['id']) return missing(String(item?.['price']));
    return ok(Object.assign(subscription, { items: { data: [{ ...own, price }] } }));
  }

  #id(prefix: string): string {
    this.#made += 1;
    return `${prefix}_${this.#made}`;
  }
}
