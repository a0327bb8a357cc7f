/** The rules for the senders of an account find what is wrong: `identities` that break one rule fail that rule. */
import { expect, test } from 'vitest';
import type { SendingDriverRegistration, VendorIdentities, VendorIdentity } from '../../src/plugin-api/index.ts';
import { identityRules } from '../../src/plugin-testing/identity-rules.ts';
import { brokenRules } from '../support/broken-rules.ts';
import { HttpDriver, httpDriver } from '../support/http-driver.ts';
import { API_KEY, startHttpVendor } from '../support/http-vendor.ts';

const record = { type: 'TXT', name: 'k._domainkey.house.test', value: 'p=MIGf', isFound: null } as const;
const house = { kind: 'domain', name: 'house.test', isVerified: true, status: 'ok', records: [record] } as const;

/** Right ones, which ask the vendor; some members replaced. */
function withIdentities(
  change: (right: VendorIdentities, driver: HttpDriver) => Partial<VendorIdentities>,
): SendingDriverRegistration {
  return {
    ...httpDriver,
    identities({ url, api_key: key }, options) {
      const driver = new HttpDriver(String(url), String(key), options);
      const asked = async <T>(answer: T): Promise<T> => {
        const tested = await driver.test();
        if (!tested.ok) throw new Error(tested.message);
        return answer;
      };
      const right: VendorIdentities = {
        adds: ['domain'],
        lists: ['domain'],
        list: () => asked([house]),
        add: async (wanted) =>
          wanted.kind === 'domain' ? asked({ ...house, ...wanted }) : Promise.reject(new Error('Domains only.')),
        check: (wanted) => asked({ ...house, ...wanted }),
      };
      return { ...right, ...change(right, driver) };
    },
  };
}

const broken = (registration: SendingDriverRegistration) =>
  brokenRules(identityRules(registration, { startVendor: startHttpVendor }));
const listing = (change: object) =>
  withIdentities(({ list }) => ({ list: async () => (await list()).map((one) => ({ ...one, ...change })) }));

const LIST = 'identities: the list has domains and addresses, each verified or not';
const ADD = 'identities: what is added and checked is told in the same shape, and no message is sent';
const KIND = 'identities: a kind that cannot be added is refused with a sentence';
const AWAY = 'identities: a vendor that is away is an error with a sentence and without secrets';

test('right ones keep all rules; without any there are none', async () => {
  expect(identityRules(httpDriver, { startVendor: startHttpVendor })).toEqual([]);
  const right = withIdentities(() => ({}));
  expect(identityRules(right, { startVendor: startHttpVendor }).map(({ name }) => name)).toEqual([
    LIST,
    ADD,
    KIND,
    AWAY,
  ]);
  expect(await broken(right)).toEqual({});
});

test.each<[string, string, string, SendingDriverRegistration]>([
  ['an address as a domain', LIST, 'as a domain', listing({ name: 'ann@house.test' })],
  ['a domain as an address', LIST, 'as an address', listing({ kind: 'email' })],
  ['a kind that is not listed', LIST, 'does not name', listing({ kind: 'email', name: 'ann@house.test' })],
  ['a word for true', LIST, 'true or false', listing({ isVerified: 'true' })],
  ['no status', LIST, 'is empty', listing({ status: '' })],
  ['a record with half a name', LIST, 'not complete', listing({ records: [{ ...record, name: '@' }] })],
  ['a word for found', LIST, 'isFound', listing({ records: [{ ...record, isFound: 'yes' }] })],
  ['nothing', LIST, 'empty', withIdentities(() => ({ list: async () => [] }))],
  [
    'another one than was added',
    ADD,
    'tells of the domain house.test',
    withIdentities(() => ({ add: async () => house })),
  ],
  [
    'another shape after a check',
    ADD,
    'status',
    withIdentities(({ check }) => ({
      check: async (wanted): Promise<VendorIdentity> => ({ ...(await check(wanted)), status: '' }),
    })),
  ],
  [
    'a message to who is added',
    ADD,
    'sends a message',
    withIdentities(({ add }, driver) => ({
      async add(wanted) {
        const envelope = { from: 'a@house.test', to: 'b@house.test' };
        const content = Buffer.from('Subject: x\r\n\r\nx\r\n');
        await driver.send({ envelope, content, messageId: '<x@y>', idempotencyKey: 'x', needsSmtpUtf8: false });
        return add(wanted);
      },
    })),
  ],
  [
    'an address that is added as a domain',
    KIND,
    'must throw',
    withIdentities(({ check }) => ({ add: (wanted) => check(wanted) })),
  ],
  ['a vendor that is away and no error', AWAY, 'must throw', withIdentities(() => ({ list: async () => [house] }))],
  [
    'an error with the key',
    AWAY,
    'a secret',
    withIdentities(({ check }) => ({
      check: (wanted) => check(wanted).catch(() => Promise.reject(new Error(`No answer for ${API_KEY}.`))),
    })),
  ],
])('%s is found', async (_what, rule, sentence, registration) => {
  expect(await broken(registration)).toHaveProperty([rule], expect.stringContaining(sentence));
});
