/**
 * The sets of people that conditions ask about: who opened, clicked, received or confirmed, as subselects that are read
 * once for the whole statement. Each reads by the leading columns of a primary key: customer, campaigns, range of
 * people. Where it is kept who is in a set (one bit a person, decision record 0331) those rows are read (bit-sets.ts);
 * else what a person did with a campaign, which is one row. Events are not read.
 */
import { sql, type Sql } from '../../../db/database.ts';
import { contains } from './compile-conditions.ts';
import { didAtAll, didSince, everDid, received } from './bit-sets.ts';
import { campaignIds, inRange } from './rule-campaigns.ts';
import type { CampaignChoice, ClickedCondition, OpenedCondition, ReceivedCondition, RuleScope } from './segment.ts';

export type SetSpec =
  | ({ readonly kind: 'opened' } & OpenedCondition)
  | ({ readonly kind: 'clicked' } & ClickedCondition)
  | ({ readonly kind: 'received' } & ReceivedCondition)
  | { readonly kind: 'confirmed' };

/** A set as a SELECT, and how it is joined. */
export interface CompiledSet {
  /** `people`: has `id`, each person once; `confirmed` also has `at`. `bits`: has `block` and `members`, each block once. */
  readonly kind: 'people' | 'bits';
  readonly select: Sql;
}

export function compileSet(spec: SetSpec, scope: RuleScope): CompiledSet {
  if (spec.kind === 'confirmed') return { kind: 'people', select: confirmed(scope) };
  if (spec.kind === 'received') return { kind: 'bits', select: received(spec, scope) };
  if (spec.kind === 'clicked' && spec.linkContains !== undefined)
    return { kind: 'people', select: clickedLink(spec.campaigns, spec.linkContains, scope) };
  const { kind, campaigns, inLastDays, atLeast = 1, peopleOnly = false } = spec;
  if (atLeast > 1) return { kind: 'people', select: didOften(spec, scope) };
  const isEver = campaigns === undefined && inLastDays === undefined && !peopleOnly;
  if (isEver) return { kind: 'bits', select: everDid(kind, scope) };
  if (inLastDays !== undefined) return { kind: 'bits', select: didSince({ kind, campaigns, inLastDays }, scope) };
  return { kind: 'bits', select: didAtAll({ kind, campaigns, peopleOnly }, scope) };
}

/** How often is in the rows alone. */
function didOften(spec: OpenedCondition & { readonly kind: 'opened' | 'clicked' }, scope: RuleScope): Sql {
  const { atLeast = 1, peopleOnly = false } = spec;
  const count = peopleOnly ? humanCount(spec.kind) : spec.kind === 'opened' ? sql`a.open_count` : sql`a.click_count`;
  return sql`SELECT a.subscriber_id AS id FROM hot.recipient_activity a
    WHERE a.customer_id = ${scope.customerId} AND a.campaign_id = ANY (${campaignIds(spec.campaigns, scope)})
      ${inRange(sql`a.subscriber_id`, scope)} AND ${count} > 0
    GROUP BY a.subscriber_id HAVING sum(${count}) >= ${atLeast}`;
}

/**
 * What a person did, as the statistics count it: who read without loading the pixel has opened once, known by the click.
 * `open_count` stays 0 where opens are not tracked.
 */
function humanCount(kind: 'opened' | 'clicked'): Sql {
  if (kind === 'clicked') return sql`a.human_clicks`;
  return sql`greatest(a.human_opens, (a.human_clicks > 0 AND a.open_count > 0)::integer)`;
}

function clickedLink(campaigns: CampaignChoice | undefined, part: string, scope: RuleScope): Sql {
  return sql`SELECT r.subscriber_id AS id FROM hot.recipient_link r
    WHERE r.customer_id = ${scope.customerId} AND r.campaign_id = ANY (${campaignIds(campaigns, scope)})
      ${inRange(sql`r.subscriber_id`, scope)}
      AND (r.campaign_id, r.link_no) IN (SELECT l.campaign_id, l.link_no FROM hot.link_counter l
            WHERE l.customer_id = ${scope.customerId} AND l.campaign_id = ANY (${campaignIds(campaigns, scope)})
              AND ${contains(sql`hot.fold(l.url)`, part)})
    GROUP BY r.subscriber_id`;
}

function confirmed(scope: RuleScope): Sql {
  return sql`SELECT e.subscriber_id AS id, max(e.at) AS at FROM consent_event e
    WHERE e.customer_id = ${scope.customerId} AND e.list_id = ${scope.listId} ${inRange(sql`e.subscriber_id`, scope)}
      AND e.status = 'subscribed' AND e.source = 'confirmation'
    GROUP BY e.subscriber_id`;
}
