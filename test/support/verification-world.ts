/** What tests of verifications begin with: a verifier whose answers a test chooses, tenants with a list, and what is stored. */
import { queryRows } from '../../scripts/support/query-rows.ts';
import { sql } from '../../src/db/database.ts';
import type { MailList } from '../../src/domain/audience/list-fields.ts';
import type { Context } from '../../src/domain/context.ts';
import { createVerificationServer } from '../../src/domain/verification/create-verification-server.ts';
import { runVerification } from '../../src/domain/verification/run-verification.ts';
import type { Verification } from '../../src/domain/verification/verification.ts';
import type { EmailVerifierRegistration, SettingsInput, VerifiedAddress } from '../../src/plugin-api/index.ts';
import { worldsVerifier } from './insert-verification.ts';
import { createTenant, newList } from './tenant.ts';
import { createTestContext } from './test-context.ts';
import { withHooks } from './with-hooks.ts';

/** By how the address begins. */
export const usualAnswers = (addresses: readonly string[]): VerifiedAddress[] =>
  addresses.map((address) => {
    if (address.startsWith('gone')) return { result: 'undeliverable', reasons: ['no_domain'] };
    if (address.startsWith('info')) return { result: 'risky', reasons: ['disposable', 'role'] };
    return address.startsWith('slow') ? { result: 'unknown', reasons: [] } : { result: 'deliverable', reasons: [] };
  });

/** Addresses of one name. */
export const some = (count: number, name = 'p') => Array.from({ length: count }, (_, no) => `${name}${no}@x.example`);

export async function startVerificationWorld(more: Partial<EmailVerifierRegistration> = {}) {
  const root = await createTestContext();
  const { db } = root;
  const verifier = { calls: [] as string[][], answer: usualAnswers as (addresses: readonly string[]) => unknown };
  withHooks(root.hooks, {
    register: (hooks) =>
      hooks.add('register_email_verifier', {
        ...worldsVerifier,
        ...{ addressesMax: 10, callsMax: 3, ...more },
        connect: (settings, options) => ({
          ...worldsVerifier.connect(settings, options),
          verify: async (addresses) => {
            verifier.calls.push([...addresses]);
            return verifier.answer(addresses) as readonly VerifiedAddress[];
          },
        }),
      }),
  });
  return {
    root,
    /** Its calls, and what it answers; of three calls at once, ten addresses each. */
    verifier,
    /** A tenant with a list and a verification server. */
    async newOwner(perMinuteMax: number | null = null, settings: SettingsInput = {}) {
      const ctx = await createTenant(root);
      const input = { name: 'V', type: worldsVerifier.type, settings, perMinuteMax };
      return { ctx, list: await newList(ctx), server: await createVerificationServer(ctx, input) };
    },
    /** People of the list, in the order of ids. */
    addPeople: (list: MailList, emails: readonly string[], status = 'subscribed') =>
      db.execute(sql`
        INSERT INTO subscriber (customer_id, list_id, email, email_key, status, tags)
        SELECT ${list.customerId}, ${list.id}, e, e, ${status}, '{}' FROM unnest(${[...emails]}::text[]) WITH ORDINALITY AS u (e, no) ORDER BY no`),
    run: (ctx: Context, { customerId, id }: Verification, abortSignal = new AbortController().signal) =>
      runVerification(ctx, { customerId, id }, { abortSignal, isLastTry: false }),
    async stateOf({ uid }: Pick<Verification, 'uid'>): Promise<Record<string, unknown>> {
      const [row] = await queryRows(db, sql`SELECT * FROM verification WHERE uid = ${uid}`);
      return row ?? {};
    },
    resultsOf: (list: MailList) =>
      queryRows<{ email: string; result: string | null; reasons: string | null; by: string | null }>(
        db,
        sql`SELECT email, verification AS result, verification_reasons AS reasons, verified_by AS by FROM subscriber WHERE list_id = ${list.id} ORDER BY id`,
      ),
    /** Jobs that wait for it, in how many seconds. */
    jobsOf: ({ uid }: Pick<Verification, 'uid'>) =>
      queryRows<{ wait: number }>(
        db,
        sql`SELECT extract(epoch FROM run_at - now())::float8 AS wait FROM graphile_worker._private_jobs WHERE key = ${`verification:${uid}`}`,
      ),
  };
}
