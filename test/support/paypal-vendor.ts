/**
 * A server that behaves as PayPal's documents say (its OpenAPI of orders v2, vault v3 and subscriptions v1): tokens that end, one result for a
 * `PayPal-Request-Id` as long as it is kept, orders that a payer approves with a way to pay of some mood, captures that are made once, minimal
 * answers unless the representation is asked for, a vault, refunds, lists in pages. It keeps its state.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { localServer } from './local-server.ts';
import {
  isText,
  isValues,
  listOf,
  missing,
  objectOf,
  page,
  PAYER,
  problem,
  type Answer,
  type Values,
} from './paypal-answers.ts';
import { PayPalSubscriptions } from './paypal-subscriptions.ts';

export const PAYPAL_ID = 'AbCdEfGhIjKlMnOpQrStUvWxYz-0123456789_id';
export const PAYPAL_SECRET = 'EFghIjKlMnOpQrStUvWxYzAb-0123456789_secret';

/** What happens to a way to pay when an order is captured. `bank` is a debit that takes days; `challenges` only of a saved account. */
export type PayerMood = 'pays' | 'bank' | 'declines' | 'challenges' | 'refuses';

const CURRENCIES =
  'AUD BRL CAD CNY CZK DKK EUR HKD HUF ILS JPY MYR MXN TWD NZD NOK PHP PLN GBP SGD SEK CHF THB USD'.split(' ');

export class PayPalVendor {
  readonly orders = new Map<string, Values>();
  /** Saved accounts by their id. */
  readonly vault = new Map<string, PayerMood>();
  /** What it keeps itself. */
  readonly kept = new PayPalSubscriptions();
  readonly subscriptions = this.kept.list;
  readonly plans = this.kept.plans;
  readonly requests: string[] = [];
  /** PayPal has given the merchant the right to save accounts. */
  mayVault = true;
  /** Captures that moved money, or are about to, by order. */
  readonly charges: string[] = [];
  /** The request ids of all captures, refused ones too, as `<order> <id>`. */
  readonly captureIds = new Set<string>();
  /** Answers of the next requests whose path ends with the key, before or after they had their effect. */
  readonly faults: { path: string; after: boolean; act: (res: ServerResponse) => void }[] = [];
  readonly #keys = new Map<string, Promise<Answer>>();
  readonly #moods = new Map<string, PayerMood>();
  readonly #tokens = new Set<string>();
  host = '';
  #made = 0;

  async start(): Promise<this> {
    this.host = await localServer((req, res) => this.#serve(req, res));
    this.kept.host = this.host;
    return this;
  }

  /** The payer logs in at PayPal and agrees, with a way to pay. Answers where PayPal sends the browser to. */
  approve(id: string, mood: PayerMood = 'pays'): string {
    const order = this.orders.get(id);
    if (!order || !['PAYER_ACTION_REQUIRED', 'CREATED', 'APPROVED'].includes(String(order['status'])))
      throw new Error('This order cannot be approved.');
    this.#moods.set(id, mood);
    Object.assign(order, { status: 'APPROVED', update_time: this.#time() });
    const { experience_context: context } = objectOf(objectOf(order['payment_source'])['paypal']);
    return `${String(objectOf(context)['return_url'])}?token=${id}&PayerID=${PAYER}`;
  }

  /** The debit of the bank account has an end. */
  settle(id: string, status: 'COMPLETED' | 'DECLINED'): void {
    Object.assign(this.#captureOf(id), {
      status,
      status_details: status === 'DECLINED' ? { reason: 'ECHECK' } : undefined,
    });
  }

  refund(id: string, value: string, status: 'COMPLETED' | 'PENDING' = 'COMPLETED'): void {
    const capture = this.#captureOf(id);
    const amount = { currency_code: String(objectOf(capture['amount'])['currency_code']), value };
    const payments = this.#paymentsOf(id);
    payments['refunds'] = [...listOf(payments['refunds']), { id: this.#id('REFUND'), status, amount }];
    if (status === 'COMPLETED') capture['status'] = 'PARTIALLY_REFUNDED';
  }

  /** PayPal forgets orders that nobody paid. */
  forgetOrder(id: string): void {
    this.orders.delete(id);
  }

  /** Six hours later. */
  forgetKeys(): void {
    this.#keys.clear();
  }

  endTokens(): void {
    this.#tokens.clear();
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '', 'http://x');
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk);
    const { method = '' } = req;
    this.requests.push(`${method} ${url.pathname}`);
    const fault = this.faults.findIndex(({ path }) => url.pathname.endsWith(path));
    const [found] = fault === -1 ? [] : this.faults.splice(fault, 1);
    if (found && !found.after) return found.act(res);
    const { status, body } = await this.#answer(req, url, Buffer.concat(chunks).toString());
    if (found) return found.act(res);
    res.writeHead(status, { 'content-type': 'application/json' }).end(body === null ? '' : JSON.stringify(body));
  }

  async #answer(req: IncomingMessage, url: URL, text: string): Promise<Answer> {
    const { method = '', headers } = req;
    const { authorization = '' } = headers;
    if (`${method} ${url.pathname}` === 'POST /v1/oauth2/token') return this.#token(authorization, text);
    if (!this.#tokens.has(authorization.replace(/^Bearer /, '')))
      return problem(401, 'AUTHENTICATION_FAILURE', 'Authentication failed due to invalid authentication credentials.');
    if (method === 'POST' && headers['content-type'] !== 'application/json')
      return problem(415, 'UNSUPPORTED_MEDIA_TYPE', 'The server does not support the request payload’s media type.');
    const key = String(headers['paypal-request-id'] ?? '');
    if (key.length > 108) return problem(400, 'INVALID_STRING_LENGTH', 'The request id is too long.');
    const isFull = headers['prefer'] === 'return=representation';
    const act = () => this.#act(method, url, { form: text === '' ? {} : objectOf(JSON.parse(text)), key, isFull });
    if (url.pathname.endsWith('/capture')) this.captureIds.add(`${url.pathname.split('/').at(-2)} ${key}`);
    if (method !== 'POST' || key === '') return act();
    return this.#once(`${url.pathname} ${key}`, act);
  }

  /** The first request with a key acts; all others get its answer, with 200 instead of 201. */
  async #once(key: string, act: () => Answer): Promise<Answer> {
    const known = this.#keys.get(key);
    if (known) {
      const { status, body } = await known;
      return { status: status === 201 ? 200 : status, body };
    }
    // Others arrive meanwhile.
    const answer = new Promise((done) => setTimeout(done, 5)).then(act);
    this.#keys.set(key, answer);
    return answer;
  }

  #token(authorization: string, text: string): Answer {
    const expected = `Basic ${Buffer.from(`${PAYPAL_ID}:${PAYPAL_SECRET}`).toString('base64')}`;
    if (authorization !== expected || text !== 'grant_type=client_credentials')
      return { status: 401, body: { error: 'invalid_client', error_description: 'Client Authentication failed' } };
    const token = this.#id('A21AA');
    this.#tokens.add(token);
    return { status: 200, body: { access_token: token, token_type: 'Bearer', expires_in: 32_400 } };
  }

  #act(method: string, url: URL, given: { form: Values; key: string; isFull: boolean }): Answer {
    const { form, isFull } = given;
    const [, place = '', id = '', act = ''] =
      /^(\/v2\/checkout\/orders|\/v3\/vault\/payment-tokens|\/v1\/billing\/(?:subscriptions|plans))(?:\/([\w-]+))?(?:\/(\w+))?$/.exec(
        url.pathname,
      ) ?? [];
    if (place === '/v1/billing/subscriptions') return this.kept.answer({ method, url, id, act, form });
    switch (`${method} ${place}${id === '' ? '' : '/:id'}${act === '' ? '' : `/${act}`}`) {
      case 'POST /v2/checkout/orders':
        return this.#newOrder(given);
      case 'GET /v2/checkout/orders/:id':
        return this.#shown(id, { status: 200, isFull: true });
      case 'POST /v2/checkout/orders/:id/capture':
        return this.#capture(id, form) ?? this.#shown(id, { status: 201, isFull });
      case 'DELETE /v3/vault/payment-tokens/:id':
        return this.vault.delete(id) ? { status: 204, body: null } : missing();
      case 'GET /v1/billing/plans':
        return page(url, 'plans', this.plans);
      default:
        return missing();
    }
  }

  #newOrder({ form, key, isFull }: { form: Values; key: string; isFull: boolean }): Answer {
    const [unit, ...others] = listOf(form['purchase_units']);
    const { currency_code: currency, value } = objectOf(unit?.['amount']);
    if (!unit || others.length > 0 || form['intent'] !== 'CAPTURE')
      return problem(400, 'INVALID_REQUEST', 'The request is not well-formed.');
    if (form['payment_source'] && key === '')
      return problem(400, 'PAYPAL_REQUEST_ID_REQUIRED', 'A PayPal-Request-Id is required with a payment source.');
    if (!CURRENCIES.includes(String(currency)))
      return problem(422, 'INVALID_CURRENCY_CODE', 'Currency code is invalid or is not currently supported.');
    const decimals = ['HUF', 'JPY', 'TWD'].includes(String(currency)) ? /^\d+$/ : /^\d+(\.\d{1,2})?$/;
    if (typeof value !== 'string' || !decimals.test(value))
      return problem(
        422,
        'DECIMAL_PRECISION',
        'If the currency supports decimals, only two decimal places are supported.',
      );
    const asked = objectOf(objectOf(objectOf(form['payment_source'])['paypal'])['attributes'])['vault'];
    if (asked !== undefined && !this.mayVault)
      return problem(
        422,
        'NOT_ENABLED_TO_VAULT_PAYMENT_SOURCE',
        'The API caller or the merchant on whose behalf the API call is initiated is not allowed to vault the given source. Please contact PayPal customer support for assistance.',
      );
    for (const [name, length] of [
      ['custom_id', 127],
      ['invoice_id', 127],
      ['description', 127],
      ['reference_id', 256],
    ] as const)
      if (!isText(unit[name], length)) return problem(400, 'INVALID_STRING_LENGTH', `The length of ${name} is wrong.`);
    const id = this.#id('5O190127TN');
    const isForPayer = form['payment_source'] !== undefined;
    this.orders.set(id, {
      ...{ id, intent: 'CAPTURE', status: isForPayer ? 'PAYER_ACTION_REQUIRED' : 'CREATED' },
      ...{ create_time: this.#time(), purchase_units: [unit], payment_source: form['payment_source'] ?? {} },
    });
    return this.#shown(id, { status: 201, isFull });
  }

  /** Undefined: it was captured. */
  #capture(id: string, form: Values): Answer | undefined {
    const order = this.orders.get(id);
    if (!order) return missing();
    if (order['status'] === 'COMPLETED')
      return problem(
        422,
        'ORDER_ALREADY_CAPTURED',
        `Order already captured.If 'intent=CAPTURE' only one capture per order is allowed.`,
      );
    const { vault_id: given } = objectOf(objectOf(form['payment_source'])['paypal']);
    const saved = typeof given === 'string' ? given : undefined;
    if (saved !== undefined && !this.vault.has(saved))
      return problem(
        422,
        'TOKEN_ID_NOT_FOUND',
        'Specified token was not found. Verify the token and try the request again.',
      );
    if (saved === undefined && order['status'] !== 'APPROVED')
      return problem(
        422,
        'ORDER_NOT_APPROVED',
        `Payer has not yet approved the Order for payment. Please redirect the payer to the 'rel':'approve' url returned as part of the HATEOAS links within the Create Order call or provide a valid \`payment_source\` in the request.`,
      );
    const mood = saved === undefined ? this.#moods.get(id) : this.vault.get(saved);
    if (mood === 'declines')
      return problem(
        422,
        'INSTRUMENT_DECLINED',
        `The instrument presented  was either declined by the processor or bank, or it can't be used for this payment.`,
        [{ rel: 'redirect', href: this.#page(id) }],
      );
    if (mood === 'challenges')
      return problem(
        422,
        'PAYER_ACTION_REQUIRED',
        'Transaction cannot complete successfully, instruct the buyer to return to PayPal.',
      );
    if (mood === 'refuses') return problem(422, 'TRANSACTION_REFUSED', 'The request was refused.');
    const [unit = {}] = listOf(order['purchase_units']);
    const status = mood === 'bank' ? 'PENDING' : 'COMPLETED';
    const capture = {
      ...{
        id: this.#id('3C679366HH'),
        status,
        amount: unit['amount'],
        custom_id: unit['custom_id'],
        final_capture: true,
      },
      ...(mood === 'bank' && { status_details: { reason: 'ECHECK' } }),
    };
    this.charges.push(id);
    unit['payments'] = { captures: [capture] };
    Object.assign(order, { status: 'COMPLETED', update_time: this.#time() });
    if (mood !== 'bank') this.#keepAccount(order);
    return undefined;
  }

  #keepAccount(order: Values): void {
    const payer = objectOf(objectOf(order['payment_source'])['paypal']);
    const asked = objectOf(objectOf(payer['attributes'])['vault']);
    const isAsked = asked['store_in_vault'] === 'ON_SUCCESS' && asked['usage_type'] === 'MERCHANT';
    const vault = { id: this.#id('vault'), status: 'VAULTED', customer: { id: this.#id('cus') } };
    if (isAsked) this.vault.set(vault.id, 'pays');
    const paypal = {
      email_address: 'payer@example.com',
      account_id: PAYER,
      ...(isAsked && { attributes: { vault } }),
    };
    order['payment_source'] = { paypal };
  }

  #shown(id: string, { status, isFull }: { status: number; isFull: boolean }): Answer {
    const order = this.orders.get(id);
    if (!order) return missing();
    const isForPayer = order['status'] === 'PAYER_ACTION_REQUIRED';
    const links = [
      { rel: 'self', href: `http://${this.host}/v2/checkout/orders/${id}`, method: 'GET' },
      ...(isForPayer ? [{ rel: 'payer-action', href: this.#page(id), method: 'GET' }] : []),
    ];
    const whole: Values = { ...order, links };
    const { payment_source: _source, purchase_units: _units, ...least } = whole;
    return { status, body: structuredClone(isFull ? whole : least) };
  }

  #page(id: string): string {
    return `http://${this.host}/checkoutnow?token=${id}`;
  }

  #captureOf(id: string): Values {
    const [capture] = listOf(this.#paymentsOf(id)['captures']);
    if (!capture) throw new Error('This order is not captured.');
    return capture;
  }

  #paymentsOf(id: string): Values {
    const [unit] = listOf(this.orders.get(id)?.['purchase_units']);
    const payments = unit?.['payments'];
    if (!isValues(payments)) throw new Error('This order has no payments.');
    return payments;
  }

  #id(prefix: string): string {
    this.#made += 1;
    return `${prefix}${this.#made}`;
  }

  /** Later with each change. */
  #time(): string {
    this.#made += 1;
    return new Date(1_790_000_000_000 + this.#made * 1_000).toISOString();
  }
}
