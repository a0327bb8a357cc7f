/**
 * Rules about sets of people that are kept as bits (who opened, clicked, received), combined block by block with `&`, `|`
 * and `~`: that is some hundred rows, where a condition would be asked of each person.
 */
import { join, sql, type Sql } from '../../../db/database.ts';
import { compileSet, type BitCondition } from './compile-sets.ts';
import type { RuleScope, SegmentRule } from './segment.ts';

/** A rule that asks for nothing else. */
export type BitRule =
  | { readonly all: readonly BitRule[] }
  | { readonly any: readonly BitRule[] }
  | { readonly none: readonly BitRule[] }
  | BitCondition;

export function isBitRule(rule: SegmentRule): rule is BitRule {
  if ('all' in rule) return rule.all.every(isBitRule);
  if ('any' in rule) return rule.any.every(isBitRule);
  if ('none' in rule) return rule.none.every(isBitRule);
  return 'opened' in rule || 'clicked' in rule || 'received' in rule;
}

/** Who belongs to a rule, as an expression for `selectBits`. */
export interface CombinedBits {
  readonly members: Sql;
  /** Whether people of blocks belong to it of which no set has a row. */
  readonly isElsewhere: boolean;
}

/** Sets as SELECTs of `block` and `members`, by what they are: one that is asked for twice is read once. */
export type BitSets = Map<string, Sql>;

/** Combines the rule's sets, which are added to `sets`. */
export function combineBits(rule: BitRule, sets: BitSets, scope: RuleScope): CombinedBits {
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

function membersOf(condition: BitCondition, sets: BitSets, scope: RuleScope): Sql {
  const spec = JSON.stringify(condition);
  if (!sets.has(spec)) sets.set(spec, compileSet(condition, scope));
  const no = [...sets.keys()].indexOf(spec);
  return sql`coalesce(bit_or(x.members) FILTER (WHERE x.no = ${no}), 0::bit(2048))`;
}

/** A SELECT of `block` and these columns, one row a block of which a set has a row. */
export function selectBits(sets: BitSets, columns: readonly Sql[]): Sql {
  const parts = [...sets.values()].map(
    (select, no) => sql`SELECT ${no}::int AS no, p.block, p.members FROM (${select}) p`,
  );
  return sql`SELECT x.block, ${join(columns, ', ')} FROM (${join(parts, ' UNION ALL ')}) x GROUP BY x.block`;
}
