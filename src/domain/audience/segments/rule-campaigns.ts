/** What the sets of a rule are narrowed by: the campaigns meant, and the range of people asked about. */
import { empty, sql, type Sql } from '../../../db/database.ts';
import type { CampaignChoice, RuleScope } from './segment.ts';

const DAY_MS = 86_400_000;

/** The campaigns meant, as an array that is made before anything else: those of the caller's own list and no other. */
export function campaignIds(choice: CampaignChoice | undefined, scope: RuleScope): Sql {
  const own = sql`FROM campaign c WHERE c.customer_id = ${scope.customerId} AND c.list_id = ${scope.listId}`;
  const except = scope.exceptCampaignId === undefined ? empty : sql`AND c.id <> ${scope.exceptCampaignId}`;
  // As it was at that moment: a campaign that is started while another is planned does not move "the last three".
  const started = sql`AND c.started_at <= ${scope.asOf.toISOString()}::timestamptz ${except}`;
  if (choice === undefined) return sql`ARRAY(SELECT c.id ${own} ${started})`;
  if ('uids' in choice) return sql`ARRAY(SELECT c.id ${own} AND c.uid = ANY (${[...choice.uids]}::text[]))`;
  if ('last' in choice)
    return sql`ARRAY(SELECT c.id ${own} ${started} ORDER BY c.started_at DESC, c.id DESC LIMIT ${choice.last})`;
  return sql`ARRAY(SELECT c.id ${own} ${started} AND c.started_at >= ${daysBefore(scope, choice.startedInLastDays)}::timestamptz)`;
}

export function daysBefore({ asOf }: RuleScope, days: number): string {
  return new Date(asOf.getTime() - days * DAY_MS).toISOString();
}

export function inRange(column: Sql, { ids }: RuleScope): Sql {
  return ids ? sql`AND ${column} BETWEEN ${ids.from} AND ${ids.to}` : empty;
}
