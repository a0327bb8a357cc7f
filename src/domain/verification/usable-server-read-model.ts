/** Which verification servers a customer may use now, by its plan: one statement for the choice, for lists and for runs. */
import { empty, sql, type Queryable, type Sql } from '../../db/database.ts';
import { columnsOf, selectList } from '../../db/fields.ts';
import { onlyInForce } from '../billing/subscriptions/subscription-read-model.ts';
import { verificationServerColumns } from './verification-server-fields.ts';
import type { VerificationServer } from './verification-server.ts';

/**
 * Own ones while the plan allows to make them, and of the system all, or those that are chosen for the plan. The operator's account, which no
 * plan limits, may use all. Own ones come first, older before newer.
 */
function usableServers(customerId: bigint, more: Sql = empty): Sql {
  return sql`
    SELECT ${selectList(verificationServerColumns, 's')}
      FROM email_verification_server s
      LEFT JOIN LATERAL (
        SELECT p.options || u.options AS options, p.verification_servers AS chosen
          FROM subscription u
          JOIN plan p ON p.id = u.plan_id
          JOIN customer payer ON payer.id = u.customer_id AND NOT payer.is_operator
         WHERE u.customer_id = ${customerId} ${onlyInForce(sql`u`)}) o ON true
     WHERE s.status = 'active' ${more}
       AND ((s.customer_id = ${customerId} AND (o.options IS NULL OR ${MAY_HAVE_OWN}))
         OR (s.is_system AND (o.options IS NULL OR ${IS_GIVEN})))
     ORDER BY (s.customer_id = ${customerId}) DESC, s.id`;
}

const MAY_HAVE_OWN = sql`coalesce(o.options ->> 'create_email_verification_servers', 'no') = 'yes'`;
const IS_GIVEN = sql`coalesce(o.options ->> 'all_email_verification_servers', 'yes') = 'yes' OR s.uid = ANY (o.chosen)`;

/** All of them, at most `max`. */
export function usableVerificationServers(
  db: Queryable,
  customerId: bigint,
  max: number,
): Promise<VerificationServer[]> {
  return db.query(columnsOf(verificationServerColumns), sql`${usableServers(customerId)} LIMIT ${max}`);
}

/** The one with this uid; without a uid the first. Undefined: there is none that the customer may use. */
export async function usableVerificationServer(
  db: Queryable,
  { customerId, uid }: { readonly customerId: bigint; readonly uid: string | null },
): Promise<VerificationServer | undefined> {
  const named = uid === null ? empty : sql`AND s.uid = ${uid}`;
  const [row] = await db.query(
    columnsOf(verificationServerColumns),
    sql`${usableServers(customerId, named)} LIMIT 1`,
    uid === null ? 'verification.first_usable' : 'verification.usable',
  );
  return row;
}

/** Those of the servers that are the system's. */
export async function systemVerificationServersAmong(
  db: Queryable,
  uids: readonly string[],
): Promise<ReadonlySet<string>> {
  const rows = await db.query(
    { uid: 'text' },
    sql`SELECT uid FROM email_verification_server WHERE is_system AND uid = ANY (${[...uids]}::text[])`,
  );
  return new Set(rows.map(({ uid }) => uid));
}
