/**
 * A payment gateway in a plugin's folder that uses every part of the contract, and the server of its vendor: objects by a request, a page that a
 * payer opens, reads. The vendor calls nobody: it has no webhook.
 */
import { localServer } from './local-server.ts';
import type { PluginFiles } from './plugin-folder.ts';

export interface PurseObject {
  readonly id: string;
  readonly amount: number;
  readonly currency: string;
  /** Custom data: the uid of the intent. */
  custom: string;
  status: 'PENDING' | 'REQUIRES_ACTION' | 'SUCCEEDED' | 'FAILED' | 'CANCELLED';
}

export class PurseVendor {
  readonly objects = new Map<string, PurseObject>();
  readonly requests: string[] = [];
  readonly keys = new Set<string>();
  /** It refuses to make objects, with this sentence. */
  refusal = '';
  host = '';

  async start(): Promise<this> {
    this.host = await localServer(async (req, res) => {
      const { method = '', url = '', headers } = req;
      const chunks: Buffer[] = [];
      for await (const chunk of req) chunks.push(chunk);
      this.requests.push(`${method} ${url}`);
      if (headers.authorization !== undefined) this.keys.add(headers.authorization);
      const { status, body } = this.#answer(method, url, Buffer.concat(chunks).toString());
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    return this;
  }

  /** The newest object. */
  newest(): PurseObject {
    const object = [...this.objects.values()].at(-1);
    if (!object) throw new Error('Nothing was begun at the vendor.');
    return object;
  }

  #answer(method: string, url: string, text: string): { status: number; body: object } {
    if (url === '/account') return { status: 200, body: {} };
    if (method === 'GET') {
      const object = this.objects.get(url.split('/').at(-1) ?? '');
      return object ? { status: 200, body: object } : { status: 404, body: {} };
    }
    if (this.refusal !== '') return { status: 400, body: { message: this.refusal } };
    const { amount, currency, custom } = JSON.parse(text);
    const known = [...this.objects.values()].find((one) => one.custom === custom);
    const object = known ?? { id: `purse${this.objects.size + 1}`, amount, currency, custom, status: 'PENDING' };
    this.objects.set(object.id, object);
    return { status: 200, body: object };
  }
}

export function pursePlugin(host: string): PluginFiles {
  return {
    code: `
      import { GatewayError } from 'mailwright/plugin-api';
      class Purse {
        constructor(services, gateway) { this.services = services; this.gateway = gateway; }
        getCheckoutUrl({ token }) { return '/plugins/acme/purse/go/' + token; }
        getMethodTitle() { return 'Purse'; }
        getMethodInfo() { return ''; }
        async ask(path, body) {
          const answer = await this.services.fetch('http://${host}' + path, {
            method: body ? 'POST' : 'GET',
            headers: { Authorization: this.gateway.data.key, 'Content-Type': 'application/json' },
            ...(body && { body: JSON.stringify(body) }),
          });
          const read = JSON.parse(answer.text());
          if (answer.status === 404) return undefined;
          if (answer.status !== 200) throw new GatewayError('refused', read.message);
          return read;
        }
        async getIntentState({ reference }) {
          const object = await this.ask('/objects/' + reference);
          return object && {
            intentUid: object.custom, reference: object.id, status: object.status,
            amountMinor: BigInt(object.amount), currencyCode: object.currency,
          };
        }
        async test() { await this.ask('/account'); return { ok: true }; }
      }
      export const plugin = {
        name: 'acme/purse',
        boot(hooks, services) {
          const shared = {
            configKeys: ['account', 'key'], secretKeys: ['key'], currencies: ['EUR'],
            validate: ({ account, key }) => typeof key === 'string' ? { ok: true, data: { account: account ?? '', key } } : { ok: false, errors: { key: ['Give a key.'] } },
            serviceFactory: (gateway) => new Purse(services, gateway),
          };
          hooks.add('register_payment_gateway', {
            ...shared, type: 'purse', name: 'Purse', description: 'Pays from a purse.', icon: 'wallet', isRemoteSubscription: true, formView: 'setup',
          });
          hooks.add('register_payment_gateway', { ...shared, type: 'plain-purse', name: 'Plain purse', description: 'Without more.' });
          hooks.add('page', { name: 'setup', audience: 'admin', title: 'Set up', view: 'setup.liquid', data: () => ({}) });
          hooks.add('route', { method: 'GET', path: '/go/:token', auth: 'public', async handle({ params }) {
            const checkout = await services.payments.openCheckout(params.token);
            if (!checkout) return { status: 404, text: 'This link does not work.' };
            const { intent, gateway, returnUrl } = checkout;
            const { uid: custom, amountMinor, currencyCode: currency } = intent;
            try {
              const object = await new Purse(services, gateway).ask('/objects', { amount: Number(amountMinor), currency, custom });
              const isSaved = await services.payments.saveReference(custom, object.id);
              return isSaved ? { redirectTo: 'http://${host}/pay/' + object.id } : { redirect: returnUrl };
            } catch (error) {
              return { redirect: returnUrl, error: error.message };
            }
          } });
          hooks.add('route', { method: 'GET', path: '/try/:token', auth: 'public', async handle({ params }) {
            const checkout = await services.payments.openCheckout(params.token);
            const tried = [];
            const attempt = (name, act) => { try { act(); tried.push(name + ': done'); } catch { tried.push(name + ': refused'); } };
            attempt('status', () => { checkout.intent.status = 'SUCCEEDED'; });
            attempt('amount', () => { checkout.intent.amountMinor = 1n; });
            attempt('intent', () => { checkout.intent = {}; });
            return { text: JSON.stringify({ can: Object.keys(services.payments).sort(), tried }) };
          } });
        },
      };`,
    files: { 'resources/views/setup.liquid': '<p>Ask your purse for a key.</p>' },
    rights: { hosts: [host], browserHosts: [host] },
  };
}
