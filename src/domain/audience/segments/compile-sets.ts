/**
 * The sets of people that conditions ask about: who opened, clicked, received or confirmed, as subselects that are read
 * once for the whole statement. Each reads by the leading columns of a primary key: customer, campaigns, range of
 * people. Who did something or received a campaign is kept as one bit a person (decision record 0071), and those rows are
 * read (bit-sets.ts, count-sets.ts); where they are out of date, what a person did with a campaign, which is one row.
 * Events are not read.
 */
import { sql, type Sql } from '../../../db/database.ts';
import { didAtAll, didSince, everDid, received } from './bit-sets.ts';
import { clickedLink, didOften } from './count-sets.ts';
import { inRange } from './rule-campaigns.ts';
import type { Condition, OpenedCondition, RuleScope } from './segment.ts';

/** Conditions about sets that are bits. */
export type BitCondition = Extract<Condition, { opened: unknown } | { clicked: unknown } | { received: unknown }>;

/** Who fulfils the condition, as a SELECT of `block` and `members`, each block once. */
export function compileSet(condition: BitCondition, scope: RuleScope): Sql {
  if ('received' in condition) return received(condition.received, scope);
  if ('opened' in condition) return did('opened', condition.opened, scope);
  const { campaigns, linkContains } = condition.clicked;
  if (linkContains !== undefined) return clickedLink(campaigns, linkContains, scope);
  return did('clicked', condition.clicked, scope);
}

function did(kind: 'opened' | 'clicked', condition: OpenedCondition, scope: RuleScope): Sql {
  const { campaigns, inLastDays, atLeast = 1, peopleOnly = false } = condition;
  if (atLeast > 1) return didOften({ kind, campaigns, atLeast, peopleOnly }, scope);
  const isEver = campaigns === undefined && inLastDays === undefined && !peopleOnly;
  if (isEver) return everDid(kind, scope);
  if (inLastDays !== undefined) return didSince({ kind, campaigns, inLastDays }, scope);
  return didAtAll({ kind, campaigns, peopleOnly }, scope);
}

/** When people last confirmed: `id`, each person once, and `at`. */
export function confirmations(scope: RuleScope): Sql {
  return sql`SELECT e.subscriber_id AS id, max(e.at) AS at FROM consent_event e
    WHERE e.customer_id = ${scope.customerId} AND e.list_id = ${scope.listId} ${inRange(sql`e.subscriber_id`, scope)}
      AND e.status = 'subscribed' AND e.source = 'confirmation'
    GROUP BY e.subscriber_id`;
}
