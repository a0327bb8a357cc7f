/**
 * Makes a rule into SQL: a condition on a row `s` of `subscriber`, and the sets of people that the condition asks about
 * (who opened, who received, who confirmed), each joined once, by the person's id or its block. Sets are joins and never conditions of
 * their own kind, because below `any` and `none` the database would look into a subquery once a person; a join is one
 * pass. Everything a caller wrote is a parameter. Nothing here is ever null: a person is in or not.
 */
import { empty, join, sql, type Sql } from '../../../db/database.ts';
import { unreachable } from '../../../lib/errors.ts';
import {
  compileEmail,
  compileNumber,
  compileTags,
  compileFieldTime,
  compileText,
  compileTime,
} from './compile-conditions.ts';
import { blockOfPerson, hasBit } from './bit-sets.ts';
import { compileSet, type CompiledSet, type SetSpec } from './compile-sets.ts';
import type { Condition, FieldCondition, RuleScope, SegmentRule } from './segment.ts';

export interface CompiledRule {
  /** LEFT JOINs to put behind `subscriber s`. */
  readonly joins: Sql;
  /** True for who belongs to it. */
  readonly condition: Sql;
}

interface Compilation {
  readonly scope: RuleScope;
  /** Sets by what they are: the same one twice is one join. */
  readonly sets: Map<string, NamedSet>;
}

interface NamedSet extends CompiledSet {
  readonly alias: Sql;
}

/** The rule for these people. */
export function compileRule(rule: SegmentRule, scope: RuleScope): CompiledRule {
  const compilation: Compilation = { scope, sets: new Map() };
  const condition = compileNode(rule, compilation);
  const joins = [...compilation.sets.values()].map(({ kind, select, alias }) => {
    const key = kind === 'bits' ? sql`${alias}.block = ${blockOfPerson}` : sql`${alias}.id = s.id`;
    return sql`LEFT JOIN (${select}) ${alias} ON ${key}`;
  });
  return { condition, joins: joins.length === 0 ? empty : join(joins, ' ') };
}

/** `FROM … WHERE …` of a statement about the people the rule picks, as `s`. */
export function peopleOf(rule: SegmentRule, scope: RuleScope): Sql {
  const { joins, condition } = compileRule(rule, scope);
  const range = scope.ids ? sql`AND s.id BETWEEN ${scope.ids.from} AND ${scope.ids.to}` : empty;
  return sql`FROM subscriber s ${joins} WHERE s.customer_id = ${scope.customerId} AND s.list_id = ${scope.listId} ${range} AND ${condition}`;
}

function compileNode(rule: SegmentRule, compilation: Compilation): Sql {
  if ('all' in rule) return group(rule.all, ' AND ', compilation);
  if ('any' in rule) return group(rule.any, ' OR ', compilation);
  if ('none' in rule) return sql`NOT ${group(rule.none, ' OR ', compilation)}`;
  return sql`(${compileCondition(rule, compilation)})`;
}

function group(rules: readonly SegmentRule[], separator: ' AND ' | ' OR ', compilation: Compilation): Sql {
  return sql`(${join(
    rules.map((rule) => compileNode(rule, compilation)),
    separator,
  )})`;
}

function compileCondition(condition: Condition, compilation: Compilation): Sql {
  const { asOf } = compilation.scope;
  if ('email' in condition) return compileEmail(condition.email);
  if ('field' in condition) return compileField(condition.field, asOf);
  if ('tags' in condition) return compileTags(condition.tags, compilation.scope);
  if ('status' in condition) return sql`s.status = ANY (${[...condition.status]}::text[])`;
  if ('source' in condition) return compileText(sql`s.source`, condition.source);
  if ('createdAt' in condition) return compileTime(sql`s.created_at`, condition.createdAt, asOf);
  if ('updatedAt' in condition) return compileTime(sql`s.updated_at`, condition.updatedAt, asOf);
  if ('confirmedAt' in condition) {
    const { alias } = setOf({ kind: 'confirmed' }, compilation);
    return compileTime(sql`${alias}.at`, condition.confirmedAt, asOf);
  }
  if ('opened' in condition) return isIn({ kind: 'opened', ...condition.opened }, compilation);
  if ('clicked' in condition) return isIn({ kind: 'clicked', ...condition.clicked }, compilation);
  if ('received' in condition) return isIn({ kind: 'received', ...condition.received }, compilation);
  return unreachable(condition);
}

function compileField(condition: FieldCondition, asOf: Date): Sql {
  const value = sql`(s.fields ->> ${condition.tag}::text)`;
  if ('text' in condition) return compileText(value, condition.text);
  if ('number' in condition) return compileNumber(sql`hot.number_of${value}`, condition.number);
  return compileFieldTime(value, condition.datetime, asOf);
}

function isIn(spec: SetSpec, compilation: Compilation): Sql {
  const { kind, alias } = setOf(spec, compilation);
  return kind === 'bits' ? hasBit(alias) : sql`${alias}.id IS NOT NULL`;
}

function setOf(spec: SetSpec, { sets, scope }: Compilation): NamedSet {
  const key = JSON.stringify(spec);
  // The name in the statement is a number of ours, never a caller's text.
  const set = sets.get(key) ?? { ...compileSet(spec, scope), alias: sql([`set_${sets.size}`]) };
  sets.set(key, set);
  return set;
}
