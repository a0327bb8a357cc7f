/**
 * Records that a credential was refused, with its user and the reason if known. Looked up after the answer, and only a few times
 * a minute per address: strangers must not cause a statement with every invented token.
 */
import { sql, row, typed, type Queryable, type RowOf } from '../../db/database.ts';
import { addressBlock } from '../../lib/address-block.ts';
import { sha256 } from '../../lib/crypto.ts';
import { messageOf } from '../../lib/errors.ts';
import { createQuota } from '../../lib/quota.ts';
import type { Context } from '../context.ts';
import type { Caller } from '../security-event.ts';

export interface RefusedToken {
  readonly text: string;
  readonly isSession: boolean;
}

const LOOK_UPS_PER_MINUTE_MAX = 10;
const LOOK_UPS_PER_MINUTE_IN_ALL_MAX = 300;
const MINUTE_MS = 60_000;
const ADDRESSES_MAX = 20_000;

const lookUps = createQuota({ max: LOOK_UPS_PER_MINUTE_MAX, windowMs: MINUTE_MS, keysMax: ADDRESSES_MAX });
const allLookUps = createQuota({ max: LOOK_UPS_PER_MINUTE_IN_ALL_MAX, windowMs: MINUTE_MS, keysMax: 1 });

const OWNER_ROW = row({
  customerId: 'bigint',
  userId: 'bigint',
  userUid: 'text',
  tokenUid: 'text',
  tokenKind: typed<'primary' | 'login' | 'named' | 'session'>('text'),
  reason: 'text',
});
type Owner = RowOf<typeof OWNER_ROW>;

/** Returns at once, never throws. */
export function noteRefusedToken(
  { database, log, securityEvents }: Pick<Context, 'database' | 'log' | 'securityEvents'>,
  caller: Caller,
  token: RefusedToken,
): void {
  if (!securityEvents) return;
  const note = (owner: Owner | undefined) =>
    securityEvents.note(caller, {
      ...{ kind: 'token_refused', operation: 'authenticate', reason: owner?.reason ?? 'TOKEN_UNKNOWN' },
      account: owner ?? null,
      ...{ tokenUid: owner?.tokenUid, tokenKind: owner?.tokenKind ?? (token.isSession ? 'session' : undefined) },
      // A browser keeps its cookie longer than we keep the session.
      isUsual: token.isSession,
    });
  const mayQuery =
    lookUps.take(addressBlock(caller.ipAddress ?? '')) !== undefined && allLookUps.take('all') !== undefined;
  if (!mayQuery) return note(undefined);
  ownerOf(database, token).then(note, (error: unknown) =>
    log.warn('security.token_not_looked_up', { message: messageOf(error) }),
  );
}

async function ownerOf(db: Queryable, { text, isSession }: RefusedToken): Promise<Owner | undefined> {
  const [owner] = await db.query(
    OWNER_ROW,
    sql`
    SELECT t.customer_id AS "customerId", t.user_id AS "userId", u.uid AS "userUid", t.uid AS "tokenUid",
           t.kind AS "tokenKind",
           CASE WHEN (t.kind = 'session') <> ${isSession}::boolean THEN 'TOKEN_OF_OTHER_KIND'
                WHEN t.revoked_at IS NOT NULL THEN 'TOKEN_REVOKED'
                WHEN u.status <> 'active' OR c.status <> 'active' THEN 'ACCOUNT_DISABLED'
                ELSE 'TOKEN_EXPIRED' END AS reason
      FROM api_token t
      JOIN app_user u ON u.customer_id = t.customer_id AND u.id = t.user_id
      JOIN customer c ON c.id = t.customer_id
     WHERE t.digest = ${sha256(text)}`,
    'accounts.refused_token',
  );
  return owner;
}
