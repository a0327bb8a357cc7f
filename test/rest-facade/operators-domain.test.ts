/** The records of the operator's own domain, under which the installation itself has its names. */
import { afterAll, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { startDnsServer } from '../support/dns-zone.ts';
import { field } from '../support/mail-world.ts';
import { startRestApp } from '../support/rest-app.ts';

const dns = await startDnsServer();
const port = await freePort();
const app = await startRestApp({
  PORT: String(port),
  BASE_URL: `http://mail.shop.test:${port}`,
  DNS_SERVERS: dns.address,
  BOUNCE_DOMAIN: 'bounces.shop.test',
  SPF_TERMS: 'ip4:192.0.2.7',
});
afterAll(() => dns.close());

interface DnsRecord {
  readonly kind: string;
  readonly type: string;
  readonly name: string;
  readonly value: string;
}

test.each(['standard', 'classic'])('no CNAME onto itself; the MX makes the return-path ready, %s', async (dialect) => {
  const { token } = await app.newTenant();
  const headers = { 'X-Api-Dialect': dialect };
  const call = (path: string, body: object) => app.rest(path, { method: 'POST', body, headers, token });
  const made = await call('/sending_domains', { name: 'shop.test', tracking_subdomain: 'mail' });
  const records = field(made, 'sending_domain', 'records') as DnsRecord[];
  expect(records.map(({ kind }) => kind)).toEqual(['ownership', 'dkim', 'spf', 'dmarc']);
  const uid = String(field(made, 'sending_domain_uid'));
  const answer = await fetch(`${app.baseUrl}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify({
      query: `query ($uid: String!) { sendingDomain(uid: $uid) { ... on SendingDomain { records { name } } } }`,
      variables: { uid },
    }),
  });
  expect(Object(await answer.json()).data.sendingDomain.records.map(({ name }: DnsRecord) => name)).toEqual(
    records.map(({ name }) => name),
  );
  for (const { type, name, value } of records) dns.zone.set(`${type} ${name}`, [value]);
  dns.zone.set('MX bounces.shop.test', ['mail.shop.test']);
  dns.zone.set('TXT bounces.shop.test', ['v=spf1 ip4:192.0.2.7 -all']);
  const checked = await call(`/sending_domains/${uid}/verify`, {});
  expect(field(checked, 'sending_domain')).toMatchObject({ status: 'verified', return_path_ready: true });
  // A domain has one holder.
  expect((await app.rest(`/sending_domains/${uid}`, { method: 'DELETE', headers, token })).status).toBe(200);
});
