/** The rules for `identities` of a registration: the senders of an account at a vendor, listed, added and checked. */
import { openOutboundPool } from '../lib/outbound-pool.ts';
import type { SendingDriverRegistration, VendorIdentities, VendorIdentity } from '../plugin-api/index.ts';
import { endsWithin, requireThat, type ConformanceRule } from './conformance-rule.ts';
import { disposable, settingsOf } from './settings-rules.ts';
import type { SendingDriverConformance, TestVendor } from './test-vendor.ts';

/** In which everything must have ended, also on a busy machine. */
const END_MS_MAX = 20_000;
const DOMAIN = /^[^\s@.]+(?:\.[^\s@.]+)+$/;
const ADDRESS = /^[^\s@]+@[^\s@.]+(?:\.[^\s@.]+)+$/;
const RECORD_TYPES = ['CNAME', 'TXT', 'MX'];
const NEW_NAMES = { domain: 'added.test', email: 'added@house.test' } as const;
const KINDS = ['domain', 'email'] as const;

interface World {
  readonly vendor: TestVendor;
  readonly identities: VendorIdentities;
  readonly secrets: readonly string[];
}

export function identityRules(
  registration: SendingDriverRegistration,
  { startVendor }: Pick<SendingDriverConformance, 'startVendor'>,
): readonly ConformanceRule[] {
  const { identities: open, secretKeys } = registration;
  if (!open) return [];
  const checks: Readonly<Record<string, (world: World) => Promise<void>>> = {
    'identities: the list has domains and addresses, each verified or not': lists,
    'identities: what is added and checked is told in the same shape, and no message is sent': addsAndChecks,
    'identities: a kind that cannot be added is refused with a sentence': refusesOtherKinds,
    'identities: a vendor that is away is an error with a sentence and without secrets': reportsFailures,
  };
  return Object.entries(checks).map(([name, check]) => ({
    name,
    async check() {
      await using vendor = disposable(await startVendor());
      const settings = settingsOf(registration, vendor.settings);
      const identities = open(settings, {
        ...{ connectionsMax: 1, clientName: 'client.test', replyTimeoutMs: END_MS_MAX / 2 },
        openHttp: openOutboundPool,
      });
      const secrets = secretKeys.map((key) => String(settings[key] ?? '')).filter((secret) => secret !== '');
      await check({ vendor, identities, secrets });
    },
  }));
}

async function lists({ identities }: World): Promise<void> {
  const found = await soon(identities.list(), 'list()');
  requireThat(found.length > 0, 'list() is empty: give the account of the test a sender, or no rule can look at it.');
  const shown: readonly string[] = identities.lists ?? KINDS;
  for (const identity of found) {
    checkShape(identity, 'list()');
    requireThat(shown.includes(identity.kind), `list() has a ${identity.kind}, which "lists" does not name.`);
  }
}

async function addsAndChecks({ vendor, identities }: World): Promise<void> {
  const added = identities.adds.map((kind) => ({ kind, name: NEW_NAMES[kind] }));
  for (const wanted of added) checkAnswer(await soon(identities.add(wanted), 'add()'), wanted, 'add()');
  const listed = await soon(identities.list(), 'list()');
  for (const wanted of [...added, ...listed.slice(0, 1)])
    checkAnswer(await soon(identities.check(wanted), 'check()'), wanted, 'check()');
  requireThat(vendor.taken().length === 0, 'add() or check() sends a message: only send() may.');
}

async function refusesOtherKinds({ identities }: World): Promise<void> {
  for (const kind of KINDS.filter((one) => !identities.adds.includes(one)))
    await requireError(
      identities.add({ kind, name: NEW_NAMES[kind] }),
      `add() of a ${kind}, which "adds" does not name,`,
    );
}

async function reportsFailures({ vendor, identities, secrets }: World): Promise<void> {
  const [known] = await soon(identities.list(), 'list()');
  requireThat(known !== undefined, 'list() is empty: give the account of the test a sender.');
  vendor.behave('is away');
  const kinds = identities.adds.map((kind) => ({ kind, name: NEW_NAMES[kind] }));
  const asked: readonly (readonly [string, Promise<unknown>])[] = [
    ['list()', identities.list()],
    ...kinds.map((wanted) => ['add()', identities.add(wanted)] as const),
    ['check()', identities.check(known)],
  ];
  await Promise.all(
    asked.map(async ([what, asking]) => {
      const { message } = await requireError(asking, `The vendor is away, and ${what}`);
      requireThat(!secrets.some((secret) => message.includes(secret)), `The error of ${what} has a secret in it.`);
    }),
  );
}

function soon<T>(asking: Promise<T>, what: string): Promise<T> {
  return endsWithin(asking, END_MS_MAX, `${what} does not end.`);
}

async function requireError(asking: Promise<unknown>, what: string): Promise<Error> {
  const failing = asking.then(
    () => undefined,
    (error: unknown) => error,
  );
  const error = await endsWithin(failing, END_MS_MAX, `${what} does not end.`);
  const isSentence = error instanceof Error && error.message.includes(' ');
  requireThat(isSentence, `${what} must throw an Error with a sentence for a person; it ended with: ${String(error)}`);
  return error;
}

function checkAnswer(
  identity: VendorIdentity,
  { kind, name }: Pick<VendorIdentity, 'kind' | 'name'>,
  what: string,
): void {
  checkShape(identity, what);
  requireThat(
    identity.kind === kind && identity.name.toLowerCase() === name.toLowerCase(),
    `${what} of the ${kind} ${name} tells of the ${identity.kind} ${identity.name}.`,
  );
}

function checkShape({ kind, name, isVerified, status, records }: VendorIdentity, what: string): void {
  requireThat(KINDS.includes(kind), `${what} tells of a "${kind}"; the kind must be domain or email.`);
  const isName = (kind === 'domain' ? DOMAIN : ADDRESS).test(name);
  requireThat(isName, `${what} tells of "${name}" as ${kind === 'domain' ? 'a domain' : 'an address'}.`);
  requireThat(typeof isVerified === 'boolean', `${what}: isVerified of ${name} must be true or false.`);
  requireThat(typeof status === 'string' && status !== '', `${what}: the status of ${name} is empty.`);
  for (const record of records) {
    const isRecord = RECORD_TYPES.includes(record.type) && DOMAIN.test(record.name) && record.value !== '';
    requireThat(isRecord, `${what}: a record of ${name} is not complete: ${JSON.stringify(record)}.`);
    const isKnown = record.isFound === null || typeof record.isFound === 'boolean';
    requireThat(isKnown, `${what}: isFound of a record of ${name} must be true, false or null.`);
  }
}
