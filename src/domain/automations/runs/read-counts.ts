/** The counts of an automation's nodes (D90), and their live feed. */
import { sharedFeed, type FeedSource } from '../../../db/live-feed.ts';
import type { Database } from '../../../db/database.ts';
import type { UnavailableCondition } from '../../audience/segments/segment-errors.ts';
import type { Context } from '../../context.ts';
import { liveVersionOf, nodeCounts, type NodeCount } from './count-read-model.ts';
import { liveFlow } from './live-flow.ts';
import type { AutomationKey } from './seen-run.ts';

export interface CountsQuestion extends AutomationKey {
  /** Null: the live version, and the newest that anybody came to. */
  readonly version: number | null;
}

export interface VersionCounts {
  readonly version: number;
  readonly isLive: boolean;
  /** The sums of its nodes. */
  readonly waiting: bigint;
  readonly parked: bigint;
  readonly left: bigint;
  readonly nodes: readonly NodeCount[];
}

export interface AutomationCounts {
  readonly versions: readonly VersionCounts[];
  /** Since when it cannot read what happens to its people, and what a plugin has not answered; null: it can. */
  readonly postponedAt: Date | null;
  readonly postponedFor: UnavailableCondition | null;
}

type Reading = Pick<Context, 'db' | 'database'>;

/** The counts now, the newest version first. The version that was asked for, else the live one, has all its nodes. Undefined: it is gone. */
export async function readCounts(ctx: Reading, question: CountsQuestion): Promise<AutomationCounts | undefined> {
  const { version: asked } = question;
  const found = await liveVersionOf(ctx.db, question);
  if (!found) return undefined;
  const { liveVersion, ...postponed } = found;
  const counts = Map.groupBy(await nodeCounts(ctx.db, question, asked), ({ version }) => version);
  const whole = asked ?? liveVersion;
  if (whole !== null) {
    const nodes = await withEmptyNodes(ctx, { ...question, version: whole }, counts.get(whole) ?? []);
    if (nodes.length > 0) counts.set(whole, nodes);
  }
  const versions = [...counts].map(([version, nodes]) => ({
    version,
    isLive: version === liveVersion,
    waiting: sum(nodes, ({ waiting }) => waiting),
    parked: sum(nodes, ({ parked }) => parked),
    left: sum(nodes, ({ left }) => left),
    nodes,
  }));
  return { versions: versions.toSorted((one, other) => other.version - one.version), ...postponed };
}

/** In the order of the flow's nodes; those to which nobody came have zeros. */
async function withEmptyNodes(
  ctx: Reading,
  key: AutomationKey & { readonly version: number },
  counts: readonly NodeCount[],
): Promise<NodeCount[]> {
  const live = await liveFlow(ctx, key);
  const known = new Map(counts.map((count) => [count.node, count]));
  const none = {
    ...{ version: key.version, entered: 0n, waiting: 0n, passed: 0n, left: 0n, parked: 0n },
    ...{ pausedAt: null, lateTotal: null, lateDone: null, postponedAt: null, postponedFor: null },
  };
  return [...(live?.graph.nodes.keys() ?? known.keys())].map((node) => known.get(node) ?? { ...none, node });
}

function sum(nodes: readonly NodeCount[], count: (node: NodeCount) => bigint): bigint {
  return nodes.reduce((total, node) => total + count(node), 0n);
}

/**
 * How often watched counts are read: by a clock, so that the engine, which changes them with every batch, announces nothing. A reading is
 * one row for each node, once for all who watch.
 */
const REREAD_MS = 1_000;

/** The process's feed, opened at the first call: an event for each change, at most one a second. */
export const countsFeedOf = sharedFeed(({ database }: Pick<Context, 'database' | 'log'>) => sourceOf(database));

function sourceOf(database: Database): FeedSource<CountsQuestion, AutomationCounts> {
  return {
    channels: [],
    keyOf: ({ customerId, automationId, version }) => `${customerId}:${automationId}:${version ?? ''}`,
    read: (question) => readCounts({ db: database, database }, question),
    isSame: (before, after) => textOf(before) === textOf(after),
    intervalMs: REREAD_MS,
    rereadMs: REREAD_MS,
  };
}

function textOf(counts: AutomationCounts): string {
  return JSON.stringify(counts, (_name, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}
