/**
 * A campaign as the sending loop needs it: its part of the ledger, its policy, its message compiled once per
 * process and version.
 */
import { sql, type Queryable } from '../../db/database.ts';
import { assert } from '../../lib/errors.ts';
import { asciiDomainOf } from '../../lib/mail-domain.ts';
import type { CompiledMessage } from '../content/message.ts';
import type { Context } from '../context.ts';
import type { CampaignKey } from '../statistics/campaign-key.ts';
import { peopleTimesOf, type PeopleTimes } from './people-times.ts';
import { identityFor, identityVersion, type SendingIdentity } from '../sending/identity.ts';
import { compileSource, readSource } from './campaign-message.ts';
import type { LedgerKey, UnknownPolicy } from './delivery.ts';

export interface Dispatch {
  readonly key: LedgerKey;
  readonly listId: bigint;
  /** Of what the message was compiled from. */
  readonly contentVersion: number;
  readonly policy: UnknownPolicy;
  /** Whom no message can be composed for is left out; otherwise the campaign is paused. */
  readonly skipsFailed: boolean;
  /** Somebody resumed it after too many were refused as if nobody were there. */
  readonly believesRefusals: boolean;
  /** The sender's domain in ASCII, for Message-IDs. */
  readonly fromDomain: string;
  readonly message: CompiledMessage;
  readonly identity: SendingIdentity;
  /** When its people are written to; null: at any time. */
  readonly times: PeopleTimes | null;
}

/** What is needed to load one: the installation's secret opens the keys that sign. */
export type DispatchContext = Pick<Context, 'db' | 'installation'>;

export interface DispatchCache {
  /** The campaign ready to be sent, or undefined when it is not being sent (paused, deleted, done, waiting for its plan). */
  dispatchOf(ctx: DispatchContext, customerId: bigint, campaignId: bigint): Promise<Dispatch | undefined>;
}

/** A compiled message holds its html several times over; more campaigns than this are rarely under way in one process. */
const CACHED_MAX = 20;
/** Files of messages count with their encoded bytes: a process has 250 MB for everything. */
const CACHED_BYTES_MAX = 67_108_864;

/** An empty cache. */
export function createDispatchCache(): DispatchCache {
  const cache = new Map<bigint, { version: string; dispatch: Dispatch }>();
  const loading = new Map<bigint, { version: string; dispatch: Promise<Dispatch | undefined> }>();
  const load = async (ctx: DispatchContext, { customerId, campaignId }: CampaignKey, version: string) => {
    try {
      const dispatch = await loadDispatch(ctx, customerId, campaignId);
      if (!dispatch) return undefined;
      cache.delete(campaignId);
      cache.set(campaignId, { version, dispatch });
      for (const [oldest] of cache) if (isFull(cache) && oldest !== campaignId) cache.delete(oldest);
      return dispatch;
    } finally {
      loading.delete(campaignId);
    }
  };
  return {
    async dispatchOf(ctx, customerId, campaignId) {
      const head = await readHead(ctx.db, customerId, campaignId);
      if (!head || head.status !== 'sending') return undefined;
      const known = cache.get(campaignId);
      if (known?.version === head.version) return known.dispatch;
      // Jobs that begin at once share one: what hangs on it (writes, refusals) is the campaign's in this process.
      const underWay = loading.get(campaignId);
      if (underWay?.version === head.version) return underWay.dispatch;
      const dispatch = load(ctx, { customerId, campaignId }, head.version);
      loading.set(campaignId, { version: head.version, dispatch });
      return dispatch;
    },
  };
}

function isFull(cache: ReadonlyMap<bigint, { dispatch: Dispatch }>): boolean {
  let bytes = 0;
  for (const { dispatch } of cache.values()) bytes += dispatch.message.staticBytes;
  return cache.size > CACHED_MAX || bytes > CACHED_BYTES_MAX;
}

async function readHead(db: Queryable, customerId: bigint, campaignId: bigint) {
  const rows = await db.query<{ status: string; version: string }>(
    // A customer that was just disabled sends nothing more, even before its campaigns are paused.
    sql`SELECT CASE WHEN u.status <> 'active' THEN 'paused' WHEN c.wait_kind IS NOT NULL AND coalesce(c.wait_until > now(), true) THEN 'waiting' ELSE c.status END AS status,
               concat(c.content_version, c.updated_at, l.updated_at, (
                 SELECT concat(u.id, u.updated_at, p.updated_at) FROM subscription u JOIN plan p ON p.id = u.plan_id
                  WHERE u.customer_id = c.customer_id AND u.status <> 'pending' ORDER BY (u.status = 'ended'), u.id DESC LIMIT 1), ${identityVersion(sql`c.customer_id`)}) AS version
          FROM campaign c JOIN mail_list l ON l.customer_id = c.customer_id AND l.id = c.list_id
          JOIN customer u ON u.id = c.customer_id
         WHERE c.customer_id = ${customerId} AND c.id = ${campaignId}`,
    'delivery.dispatch-head',
  );
  return rows[0];
}

async function loadDispatch(
  { db, installation }: DispatchContext,
  customerId: bigint,
  campaignId: bigint,
): Promise<Dispatch | undefined> {
  const key = { customerId, campaignId };
  const row = await readSource(db, key);
  if (!row) return undefined;
  assert(row.planned_on !== null, 'a campaign that is being sent has a day in the ledger');
  return {
    key: { plannedOn: row.planned_on, customerId, campaignId },
    listId: row.list_id,
    contentVersion: row.content_version,
    policy: row.unknown_policy,
    skipsFailed: row.skip_failed_messages,
    believesRefusals: row.hard_refusals === 'believed',
    fromDomain: asciiDomainOf(row.from_email),
    message: await compileSource(db, { key, row, files: 'whole' }),
    identity: await identityFor(db, {
      customerId,
      fromEmail: row.from_email,
      signDkim: row.sign_dkim,
      secret: installation.secret,
    }),
    times: await peopleTimesOf(db, key),
  };
}
