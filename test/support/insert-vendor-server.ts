/** Of the worlds in which rows and mutations are played: a driver whose vendor knows every sender, and a server of it. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { SendingDriverRegistration, VendorIdentity } from '../../src/plugin-api/index.ts';
import type { RestApp } from './rest-app.ts';
import { withDriver } from './with-hooks.ts';

const TYPE = 'world-vendor';

function identityOf({ kind, name }: Pick<VendorIdentity, 'kind' | 'name'>): VendorIdentity {
  const record = { type: 'TXT', name: `key._domainkey.${name}`, value: 'k=rsa; p=MIGf', isFound: null } as const;
  return { kind, name, isVerified: false, status: 'pending', records: kind === 'domain' ? [record] : [] };
}

const worldsVendor: SendingDriverRegistration = {
  ...{ type: TYPE, name: 'Vendor', description: 'Sends nothing.', configKeys: [], secretKeys: [] },
  validate: () => ({ ok: true, settings: {} }),
  connect: () => ({
    capacity: 1,
    send: () => Promise.reject(new Error('Nothing is sent.')),
    test: () => Promise.resolve({ ok: true }),
    close: () => Promise.resolve(),
  }),
  webhook: { verify: () => true, parse: () => [] },
  identities: () => ({
    adds: ['domain', 'email'],
    list: () => Promise.resolve([identityOf({ kind: 'domain', name: 'shop.example' })]),
    add: (identity) => Promise.resolve(identityOf(identity)),
    addWithMail: (name) => Promise.resolve(identityOf({ kind: 'email', name })),
    check: (identity) => Promise.resolve(identityOf(identity)),
  }),
};

export async function insertVendorServer(
  app: RestApp,
  customerId: bigint,
): Promise<{ readonly vendorServerUid: string; readonly vendorRequestUid: string }> {
  const known = app.hooks.collect('register_sending_server_driver');
  if (!known.some(({ type }) => type === TYPE)) withDriver(app.hooks, worldsVendor);
  const vendorServerUid = newUid();
  const [request] = await queryRows<{ uid: string }>(
    app.ctx.db,
    sql`
    WITH s AS (INSERT INTO sending_server (customer_id, uid, name, type, status, default_from_email)
               VALUES (${customerId}, ${vendorServerUid}, 'Vendor', ${TYPE}, 'inactive', 'valid@sender.example') RETURNING customer_id, id)
    INSERT INTO hot.vendor_request (customer_id, server_id, type, server_uid, is_system, received_at, method, query, headers, payload, address_hashes, fault)
    SELECT customer_id, id, ${TYPE}, ${vendorServerUid}, false, now(), 'POST', '{"key": "(hidden)"}', '{"content-type": "application/json"}',
           convert_to('{"event": "delivered"}', 'UTF8'), '{}', 'The driver could not read it.' FROM s RETURNING uid`,
  );
  return { vendorServerUid, vendorRequestUid: request?.uid ?? '' };
}

/** What rows about domains, senders and requests of vendors take. */
export function senderValues(path: string): Readonly<Record<string, unknown>> {
  if (path.includes('sending_domains')) return { name: `${newUid()}.example`, is_default: 0 };
  if (path.startsWith('/vendor_requests'))
    return { state: 'unreadable', from: '2020-01-31 08:00:00', to: '2040-01-31 08:00:00' };
  if (!path.includes('/identities')) return {};
  return {
    name: path.endsWith('/check') ? 'shop.example' : 'ada@shop.example',
    ...{ mail_subject: 'Please confirm', mail_html: '<p>Is this your address?</p>' },
    ...{ mail_from_email: 'valid@sender.example', mail_success_url: 'https://shop.example/yes' },
    mail_failure_url: 'https://shop.example/no',
  };
}
