/**
 * The sets of people that conditions ask about: who opened, clicked, received or confirmed, as subselects of `id`
 * (a subscriber's) that are read once for the whole statement. Each reads by the leading columns of a primary key:
 * customer, campaigns, range of people. Events are not read: what a person did with a campaign is one row.
 */
import { empty, sql, type Sql } from '../../../db/database.ts';
import { contains } from './compile-conditions.ts';
import type { CampaignChoice, ClickedCondition, OpenedCondition, ReceivedCondition, RuleScope } from './segment.ts';

const DAY_MS = 86_400_000;

export type SetSpec =
  | ({ readonly kind: 'opened' } & OpenedCondition)
  | ({ readonly kind: 'clicked' } & ClickedCondition)
  | ({ readonly kind: 'received' } & ReceivedCondition)
  | { readonly kind: 'confirmed' };

/** The set as a SELECT with `id`, each person once; `confirmed` also has `at`. */
export function compileSet(spec: SetSpec, scope: RuleScope): Sql {
  if (spec.kind === 'confirmed') return confirmed(scope);
  if (spec.kind === 'received') return received(spec, scope);
  if (spec.kind === 'clicked' && spec.linkContains !== undefined)
    return clickedLink(spec.campaigns, spec.linkContains, scope);
  const { campaigns, inLastDays, atLeast = 1, peopleOnly = false } = spec;
  const isEver = campaigns === undefined && inLastDays === undefined && atLeast === 1 && !peopleOnly;
  return isEver ? everDid(spec.kind, scope) : did(spec, scope);
}

/** What `open` and `click` of `GET /subscribers` mean: it outlives the campaigns. */
function everDid(kind: 'opened' | 'clicked', scope: RuleScope): Sql {
  const when = kind === 'opened' ? sql`a.opened_at` : sql`a.clicked_at`;
  return sql`SELECT a.subscriber_id AS id FROM hot.subscriber_activity a
    WHERE a.customer_id = ${scope.customerId} AND a.list_id = ${scope.listId} ${inRange(sql`a.subscriber_id`, scope)} AND ${when} IS NOT NULL`;
}

function did(spec: OpenedCondition & { readonly kind: 'opened' | 'clicked' }, scope: RuleScope): Sql {
  const { inLastDays, atLeast = 1, peopleOnly = false } = spec;
  const opened = spec.kind === 'opened';
  const count = peopleOnly ? humanCount(spec.kind) : opened ? sql`a.open_count` : sql`a.click_count`;
  // An open that is known by a click only has no time of its own.
  const last = opened ? sql`coalesce(a.last_open_at, a.last_click_at)` : sql`a.last_click_at`;
  const since =
    inLastDays === undefined
      ? empty
      : sql`AND ${last} BETWEEN ${daysBefore(scope, inLastDays)}::timestamptz AND ${scope.asOf.toISOString()}::timestamptz`;
  const often = atLeast === 1 ? empty : sql`HAVING sum(${count}) >= ${atLeast}`;
  return sql`SELECT a.subscriber_id AS id FROM hot.recipient_activity a
    WHERE a.customer_id = ${scope.customerId} AND a.campaign_id = ANY (${campaignIds(spec.campaigns, scope)})
      ${inRange(sql`a.subscriber_id`, scope)} AND ${count} > 0 ${since}
    GROUP BY a.subscriber_id ${often}`;
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

function received({ campaigns, atLeast = 1 }: ReceivedCondition, scope: RuleScope): Sql {
  // One row per campaign and person.
  const often = atLeast === 1 ? empty : sql`HAVING count(*) >= ${atLeast}`;
  return sql`SELECT d.subscriber_id AS id FROM hot.delivery d
    WHERE d.customer_id = ${scope.customerId} AND d.campaign_id = ANY (${campaignIds(campaigns, scope)})
      ${inRange(sql`d.subscriber_id`, scope)} AND d.state = 'sent'
    GROUP BY d.subscriber_id ${often}`;
}

function confirmed(scope: RuleScope): Sql {
  return sql`SELECT e.subscriber_id AS id, max(e.at) AS at FROM consent_event e
    WHERE e.customer_id = ${scope.customerId} AND e.list_id = ${scope.listId} ${inRange(sql`e.subscriber_id`, scope)}
      AND e.status = 'subscribed' AND e.source = 'confirmation'
    GROUP BY e.subscriber_id`;
}

/** The campaigns meant, as an array that is made before anything else: those of the caller's own list and no other. */
function campaignIds(choice: CampaignChoice | undefined, scope: RuleScope): Sql {
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

function daysBefore({ asOf }: RuleScope, days: number): string {
  return new Date(asOf.getTime() - days * DAY_MS).toISOString();
}

function inRange(column: Sql, { ids }: RuleScope): Sql {
  return ids ? sql`AND ${column} BETWEEN ${ids.from} AND ${ids.to}` : empty;
}
