/** The bundled verifier keeps the contract of email verifiers, against a real name server of this machine. */
import { expect, test } from 'vitest';
import { plugin } from '../../plugins/mailwright/address-check/index.ts';
import { emailVerifierConformance } from '../../src/plugin-testing/email-verifier-conformance.ts';
import type { TestVerifierVendor, VerifierVendorBehaviour } from '../../src/plugin-testing/test-verifier-vendor.ts';
import { startDnsServer, type Zone } from '../support/dns-zone.ts';
import { verifierOf } from '../support/drivers-of-plugin.ts';

/** More than any rule asks about. */
const DOMAINS = 600;
const BEHAVIOUR = {
  answers: 'zone',
  slow: 'slow',
  refuses: 'REFUSED',
  fails: 'SERVFAIL',
  'is busy': 'REFUSED',
  'is away': 'silent',
  'never answers': 'silent',
} as const satisfies Record<VerifierVendorBehaviour, string>;

function zone(): Zone {
  const all: Zone = new Map([
    ['NS com', ['a.gtld-servers.test']],
    ['A mx.test', ['192.0.2.1']],
  ]);
  for (let no = 0; no < DOMAINS; no++) {
    all.set(`MX d${no}.good.test`, ['mx.test']);
    all.set(`MX d${no}.none.test`, ['.']);
    all.set(`MX d${no}.broken.test`, 'fail');
  }
  return all;
}

async function startVendor(): Promise<TestVerifierVendor> {
  const dns = await startDnsServer(zone());
  return {
    settings: { dns_timeout_seconds: 2, disposable_domains: 'more.example' },
    dnsServers: [dns.address],
    behave: (how) => dns.behave(BEHAVIOUR[how]),
    asked: () => dns.queried.flatMap((one) => /^MX (.*\.test)$/.exec(one)?.[1] ?? []),
    requests: () => dns.queried.length,
    close: async () => dns.close(),
  };
}

const rules = emailVerifierConformance(verifierOf(plugin, 'address-check'), {
  startVendor,
  wrongSettings: {
    ...{ check_disposable: 'maybe', check_roles: 'maybe', disposable_domains: 'no domain', allowed_domains: 'x' },
    ...{ dns_timeout_seconds: 0, lookups_max: 'many' },
  },
  addresses: {
    deliverable: (no) => `p${no}@d${no}.good.test`,
    undeliverable: (no) => `p${no}@d${no}.none.test`,
    risky: (no) => `info@d${no}.good.test`,
    unknown: (no) => `p${no}@d${no}.broken.test`,
  },
});

test.each(rules)('$name', { timeout: 120_000 }, ({ check }) => check());
test('are all rules of a verifier that nobody asks to wait', () => expect(rules).toHaveLength(21));
