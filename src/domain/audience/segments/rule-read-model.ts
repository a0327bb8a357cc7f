/**
 * Compiles a rule to SQL: a condition on a row `s` of `subscriber`, and the sets of people that the condition needs (who opened,
 * who received, who confirmed). Sets are joins and never subqueries, because below `any` and `none` the database would run a
 * subquery once per person; a join is one pass. Sets of bits are combined with each other block by block first, and joined once.
 * Every text of a caller is a parameter. Nothing here is ever null.
 */
import { empty, join, sql, type Sql } from '../../../db/database.ts';
import { unreachable } from '../../../lib/errors.ts';
import { didEvents } from './event-set-read-model.ts';
import {
  blockOfPerson,
  blockOfWord,
  compileSet,
  confirmations,
  hasBit,
  wordOfBits,
  type BitCondition as StoredBits,
} from './people-set-read-model.ts';
import {
  compileEmail,
  compileFieldTime,
  compileNumber,
  compileOptions,
  compileTags,
  compileText,
  compileTime,
} from './condition-read-model.ts';
import type { Condition, FieldCondition, RuleScope, SegmentRule } from './segment.ts';

interface CompiledRule {
  /** LEFT JOINs to put after `subscriber s`. */
  readonly joins: Sql;
  /** True for people of the rule. */
  readonly condition: Sql;
}

interface Compilation {
  readonly scope: RuleScope;
  readonly sets: BitSets;
  /** What the condition needs from the sets, each a column of the one join. */
  readonly asked: CombinedBits[];
  /** The join of confirmation times, when the rule needs them. */
  confirmed: Sql | undefined;
}

/** The rule for these people. */
function compileRule(rule: SegmentRule, scope: RuleScope): CompiledRule {
  const compilation: Compilation = { scope, sets: new Map(), asked: [], confirmed: undefined };
  const condition = compileNode(rule, compilation);
  const { sets, asked, confirmed } = compilation;
  const joins = confirmed ? [confirmed] : [];
  if (asked.length > 0) {
    const columns = asked.map(({ members }, no) => sql`${members} AS ${column(no)}`);
    joins.push(sql`LEFT JOIN (${selectBits(sets, columns)}) b ON b.block = ${blockOfPerson}`);
  }
  return { condition, joins: joins.length === 0 ? empty : join(joins, ' ') };
}

/** `FROM … WHERE …` of a statement about the people the rule picks, as `s`. */
export function peopleOf(rule: SegmentRule, scope: RuleScope): Sql {
  const { joins, condition } = compileRule(rule, scope);
  return sql`FROM subscriber s ${joins} WHERE ${ofList(scope)} AND ${condition}`;
}

/**
 * The people of the rule as a SELECT of `no` (id >> 6), `bits` (a bigint, the first of these 64 its highest bit) and `people`
 * (how many). A rule about bits only is computed for 64 people at once.
 */
export function wordsOf(rule: SegmentRule, scope: RuleScope): Sql {
  const people = (from: Sql) =>
    sql`SELECT s.id >> 6 AS no, bit_or(1::bigint << (63 - (s.id & 63))::integer) AS bits, count(*)::integer AS people ${from} GROUP BY s.id >> 6`;
  if (!isBitRule(rule)) return people(peopleOf(rule, scope));
  const sets: BitSets = new Map();
  const { members, isElsewhere } = combineBits(rule, sets, scope);
  const bits = sql`w.bits & coalesce(${wordOfBits(sql`b.members`, sql`w.no`)}, ${isElsewhere ? -1 : 0}::bigint)`;
  return sql`SELECT v.no, v.bits, bit_count(v.bits::bit(64))::integer AS people FROM (
      SELECT w.no, ${bits} AS bits FROM (${people(sql`FROM subscriber s WHERE ${ofList(scope)}`)}) w
        LEFT JOIN (${selectBits(sets, [sql`${members} AS members`])}) b ON b.block = ${blockOfWord(sql`w.no`)} OFFSET 0) v
    WHERE v.bits <> 0`;
}

/** How many people the rule picks, as a SELECT of `count`. */
export function countOf(rule: SegmentRule, scope: RuleScope): Sql {
  if (!isBitRule(rule)) return sql`SELECT count(*)::integer AS count ${peopleOf(rule, scope)}`;
  return sql`SELECT coalesce(sum(w.people), 0)::integer AS count FROM (${wordsOf(rule, scope)}) w`;
}

function ofList({ customerId, listId, ids }: RuleScope): Sql {
  const range = ids ? sql`AND s.id BETWEEN ${ids.from} AND ${ids.to}` : empty;
  return sql`s.customer_id = ${customerId} AND s.list_id = ${listId} ${range}`;
}

function compileNode(rule: SegmentRule, compilation: Compilation): Sql {
  if (isBitRule(rule)) return isIn(rule, compilation);
  if ('all' in rule) return group(rule.all, 'all', compilation);
  if ('any' in rule) return group(rule.any, 'any', compilation);
  if ('none' in rule) return sql`NOT ${group(rule.none, 'any', compilation)}`;
  return sql`(${compileCondition(rule, compilation)})`;
}

/** Rules about bits become one condition. */
function group(rules: readonly SegmentRule[], how: 'all' | 'any', compilation: Compilation): Sql {
  const inBits = rules.filter(isBitRule);
  const parts = rules.filter((rule) => !isBitRule(rule)).map((rule) => compileNode(rule, compilation));
  if (inBits.length > 0) parts.unshift(isIn(how === 'all' ? { all: inBits } : { any: inBits }, compilation));
  return sql`(${join(parts, how === 'all' ? ' AND ' : ' OR ')})`;
}

function isIn(rule: BitRule, { sets, asked, scope }: Compilation): Sql {
  const bits = combineBits(rule, sets, scope);
  return hasBit(sql`b.${column(asked.push(bits) - 1)}`, bits.isElsewhere);
}

/** The name in the statement is our own number, never a caller's text. */
function column(no: number): Sql {
  return sql([`is_${no}`]);
}

function compileCondition(condition: Exclude<Condition, BitCondition>, compilation: Compilation): Sql {
  const { asOf } = compilation.scope;
  if ('email' in condition) return compileEmail(condition.email);
  if ('field' in condition) return compileField(condition.field, asOf);
  if ('tags' in condition) return compileTags(condition.tags, compilation.scope);
  if ('status' in condition) return sql`s.status = ANY (${[...condition.status]}::text[])`;
  if ('verification' in condition)
    return sql`coalesce(s.verification, 'unverified') = ANY (${[...condition.verification]}::text[])`;
  if ('verifiedAt' in condition) return compileTime(sql`s.verified_at`, condition.verifiedAt, asOf);
  if ('source' in condition) return compileText(sql`s.source`, condition.source);
  if ('createdAt' in condition) return compileTime(sql`s.created_at`, condition.createdAt, asOf);
  if ('updatedAt' in condition) return compileTime(sql`s.updated_at`, condition.updatedAt, asOf);
  if ('confirmedAt' in condition) {
    compilation.confirmed = sql`LEFT JOIN (${confirmations(compilation.scope)}) confirmed ON confirmed.id = s.id`;
    return compileTime(sql`confirmed.at`, condition.confirmedAt, asOf);
  }
  return unreachable(condition);
}

function compileField(condition: FieldCondition, asOf: Date): Sql {
  const value = sql`(s.fields ->> ${condition.tag}::text)`;
  if ('text' in condition) return compileText(value, condition.text);
  if ('number' in condition) return compileNumber(sql`hot.number_of${value}`, condition.number);
  if ('options' in condition) return compileOptions(value, condition.options);
  return compileFieldTime(value, condition.datetime, asOf);
}

/** Conditions that are known for many people at once. */
type BitCondition = StoredBits | Extract<Condition, { did: unknown } | { didNot: unknown }>;

/** A rule that needs only bits. */
type BitRule =
  | { readonly all: readonly BitRule[] }
  | { readonly any: readonly BitRule[] }
  | { readonly none: readonly BitRule[] }
  | BitCondition;

const BIT_CONDITIONS = ['opened', 'clicked', 'received', 'did', 'didNot', 'pluginCondition'];

function isBitRule(rule: SegmentRule): rule is BitRule {
  if ('all' in rule) return rule.all.every(isBitRule);
  if ('any' in rule) return rule.any.every(isBitRule);
  if ('none' in rule) return rule.none.every(isBitRule);
  return BIT_CONDITIONS.some((name) => name in rule);
}

/** The people of a rule, as an expression for `selectBits`. */
interface CombinedBits {
  readonly members: Sql;
  /** Whether people in blocks without a row in any set belong to it. */
  readonly isElsewhere: boolean;
}

/** Sets as SELECTs of `block` and `members`, by their text: a repeated one is read once. */
type BitSets = Map<string, Sql>;

/** Combines the rule's sets, which are added to `sets`. */
function combineBits(rule: BitRule, sets: BitSets, scope: RuleScope): CombinedBits {
  const all = (rules: readonly BitRule[]) => rules.map((one) => combineBits(one, sets, scope));
  if ('all' in rule) {
    const inner = all(rule.all);
    return { members: joined(inner, ' & '), isElsewhere: inner.every(({ isElsewhere }) => isElsewhere) };
  }
  if ('any' in rule) return anyOf(all(rule.any));
  if ('none' in rule) {
    const { members, isElsewhere } = anyOf(all(rule.none));
    return { members: sql`~${members}`, isElsewhere: !isElsewhere };
  }
  if ('didNot' in rule) {
    const { members } = combineBits({ did: rule.didNot }, sets, scope);
    return { members: sql`~${members}`, isElsewhere: true };
  }
  return { members: membersOf(rule, sets, scope), isElsewhere: false };
}

function anyOf(inner: readonly CombinedBits[]): CombinedBits {
  return { members: joined(inner, ' | '), isElsewhere: inner.some(({ isElsewhere }) => isElsewhere) };
}

function joined(inner: readonly CombinedBits[], operator: ' & ' | ' | '): Sql {
  return sql`(${join(
    inner.map(({ members }) => members),
    operator,
  )})`;
}

function membersOf(condition: Exclude<BitCondition, { didNot: unknown }>, sets: BitSets, scope: RuleScope): Sql {
  const spec = JSON.stringify(condition);
  if (!sets.has(spec))
    sets.set(spec, 'did' in condition ? didEvents(condition.did, scope) : compileSet(condition, scope));
  const no = [...sets.keys()].indexOf(spec);
  return sql`coalesce(bit_or(x.members) FILTER (WHERE x.no = ${no}), 0::bit(2048))`;
}

/** A SELECT of `block` and these columns, one row per block that has a row in a set. */
function selectBits(sets: BitSets, columns: readonly Sql[]): Sql {
  const parts = [...sets.values()].map(
    (select, no) => sql`SELECT ${no}::int AS no, p.block, p.members FROM (${select}) p`,
  );
  return sql`SELECT x.block, ${join(columns, ', ')} FROM (${join(parts, ' UNION ALL ')}) x GROUP BY x.block`;
}
