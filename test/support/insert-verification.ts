/** Of the worlds in which rows and mutations are played: a verifier that asks nobody, and a verification server of a tenant. */
import { sql } from '../../src/db/database.ts';
import { newUid } from '../../src/lib/ids.ts';
import type { EmailVerifierRegistration } from '../../src/plugin-api/index.ts';
import type { RestApp } from './rest-app.ts';
import { withHooks } from './with-hooks.ts';

export const WORLDS_VERIFIER = 'world-check';

/** Every address is deliverable. */
export const worldsVerifier: EmailVerifierRegistration = {
  type: WORLDS_VERIFIER,
  name: 'Check',
  description: 'Says yes.',
  configKeys: ['region', 'api_key'],
  secretKeys: ['api_key'],
  addressesMax: 100,
  validate: ({ region = 'eu', api_key: key }) =>
    region === 'eu' || region === 'us'
      ? { ok: true, settings: { region, ...(typeof key === 'string' && { api_key: key }) } }
      : { ok: false, errors: { region: ['The region must be one of: eu, us.'] } },
  connect: ({ api_key }) => ({
    verify: (addresses) => addresses.map(() => ({ result: 'deliverable', reasons: [] })),
    test: () =>
      Promise.resolve(api_key === 'wrong' ? { ok: false, message: 'The key wrong is refused.' } : { ok: true }),
    close: () => Promise.resolve(),
  }),
};

/** The tenant's own verification server, and a verification of a list of its own. */
export async function insertVerification(
  app: RestApp,
  customerId: bigint,
): Promise<{ readonly verificationServerUid: string; readonly verificationUid: string }> {
  const known = app.hooks.collect('register_email_verifier');
  if (!known.some(({ type }) => type === WORLDS_VERIFIER))
    withHooks(app.hooks, { register: (hooks) => hooks.add('register_email_verifier', worldsVerifier) });
  const [verificationServerUid, busyUid, verificationUid] = [newUid(), newUid(), newUid()];
  await app.ctx.db.execute(sql`
    INSERT INTO email_verification_server (customer_id, uid, name, type)
    VALUES (${customerId}, ${verificationServerUid}, 'Verifier', ${WORLDS_VERIFIER}), (${customerId}, ${busyUid}, 'Busy', ${WORLDS_VERIFIER})`);
  await app.ctx.db.execute(sql`
    WITH l AS (
      INSERT INTO mail_list (customer_id, uid, name, default_subject, from_email, from_name)
      VALUES (${customerId}, ${newUid()}, 'Verified', 'Subject', 'list@sender.example', 'Sender') RETURNING customer_id, id)
    INSERT INTO verification (customer_id, uid, list_id, server_uid, server_name, status, reason)
    SELECT customer_id, ${verificationUid}, id, ${busyUid}, 'Busy', 'paused', 'The verifier is away.' FROM l`);
  return { verificationServerUid, verificationUid };
}
