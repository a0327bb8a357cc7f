/** Whose name an address is in, however it is written: nobody sends as another customer, or as the operator's account, unproved. */
import { expect, test } from 'vitest';
import { sql } from '../../../src/db/database.ts';
import type { Context } from '../../../src/domain/context.ts';
import { senderFault } from '../../../src/domain/sending/addresses/usable-sender.ts';
import { identityFor } from '../../../src/domain/sending/identity.ts';
import { makeDkimKey } from '../../../src/domain/sending/signing/dkim-keys.ts';
import { newUid } from '../../../src/lib/ids.ts';
import { createTenant } from '../../support/tenant.ts';
import { createTestContext } from '../../support/test-context.ts';

const root = await createTestContext();
const { secret } = root.installation;
const [owner, thief] = [await createTenant(root), await createTenant(root)];
const customerOf = ({ viewer }: Context) => viewer?.customerId ?? 0n;

async function verifiedDomain(customerId: bigint, name: string, organization?: string) {
  const key = await makeDkimKey(secret, `s${name}`, 'ed25519-sha256');
  const checks = organization && {
    dmarc: {
      ...{ foundAt: null, record: null, policy: null, organizationalDomain: organization },
      ...{ dkimAlignment: 'relaxed', spfAlignment: 'relaxed' },
    },
  };
  await root.db.execute(sql`
    WITH d AS (INSERT INTO sending_domain (customer_id, uid, name, token, return_path_host, tracking_host, status, is_default, checks)
               VALUES (${customerId}, ${newUid()}, ${name}, ${newUid()}, ${`b.${name}`}, ${`l.${name}`}, 'verified', ${organization !== undefined},
                       ${JSON.stringify(checks || {})}::jsonb)
               RETURNING customer_id, id)
    INSERT INTO dkim_key (customer_id, domain_id, selector, algorithm, public_key, sealed_private_key, status)
    SELECT customer_id, id, ${`s${name}`}, 'ed25519-sha256', ${key.publicKey}, ${key.sealedPrivateKey}, 'active' FROM d`);
}

await verifiedDomain(customerOf(owner), 'shop.example');
await verifiedDomain(customerOf(owner), 'mail.house.example', 'house.example');

const faultOf = (ctx: Context, email: string, bounceDomain = '') =>
  senderFault(root.db, { fromAddresses: 'any', bounceDomain }, { customerId: customerOf(ctx), email });
const signerOf = async (ctx: Context, fromEmail: string) =>
  (await identityFor(root.db, { customerId: customerOf(ctx), fromEmail, signDkim: true, secret })).signingDomain;

const long = `${'a'.repeat(60)}.${'b'.repeat(60)}.${'c'.repeat(60)}`;
const deep = 'a.b.c.d.e.f.g.h.i.j.k.l.m';

test.each(['x@shop.example', 'x@SHOP.Example', `x@${deep}.shop.example`, `x@${long}.shop.example`, 'x@ｓhop.example'])(
  "%s is in the other customer's name",
  async (email) => {
    expect(await faultOf(thief, email)).toMatch(/shop\.example belongs to another customer/);
    expect(await faultOf(owner, email)).toBeUndefined();
    expect(await signerOf(owner, email)).toBe('shop.example');
  },
);

test.each([
  ...['ceo@house.example', 'ceo@mail.house.example', 'ceo@other.house.example', 'ceo@x.mail.house.example'],
  ...[`ceo@${deep}.mail.house.example`, `ceo@${long}.mail.house.example`],
])('%s is in the name of the house: the default domain does not sign it for anybody', async (email) => {
  expect(await faultOf(thief, email)).toMatch(/house\.example/);
  expect(await signerOf(thief, email)).toBeNull();
  expect(await signerOf(owner, email)).toBe('mail.house.example');
});

test('the default domain signs for strangers', async () => {
  for (const email of ['x@gmail.example', 'x@nothouse.example']) {
    expect(await faultOf(thief, email)).toBeUndefined();
    expect(await signerOf(thief, email)).toBe('mail.house.example');
  }
});

test('an address near to the bounce domain, whose SPF would count for it, has to be verified', async () => {
  for (const email of ['x@company.test', 'x@bounces.company.test', 'x@a.bounces.company.test'])
    expect(await faultOf(thief, email, 'bounces.company.test')).toMatch(/verify the address/);
  expect(await faultOf(thief, 'x@otherbounces.company.test', 'bounces.company.test')).toBeUndefined();
  const { viewer } = thief;
  await root.db.execute(
    sql`INSERT INTO from_address (customer_id, uid, email, email_key, verified_at) VALUES (${viewer?.customerId}, ${newUid()}, 'x@company.test', 'x@company.test', now())`,
  );
  expect(await faultOf(thief, 'X@company.test', 'bounces.company.test')).toBeUndefined();
});
