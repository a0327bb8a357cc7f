/** Breaking changes of the GraphQL schema, and whether the changelog announces them. */
import { BreakingChangeType, buildSchema, findSchemaChanges, isType, type GraphQLSchema } from 'graphql';

const BREAKING: ReadonlySet<string> = new Set(Object.values(BreakingChangeType));
const ROOTS = new Set(['Query', 'Mutation', 'Subscription']);

/** Sentences about the breaking changes that no line of the changelog's unreleased section announces. */
export function unannouncedChanges(before: string, after: string, changelog: string): string[] {
  const [released, present] = [buildSchema(before), buildSchema(after)];
  const named = new Set(announcements(changelog).flatMap(wordsInCode));
  return findSchemaChanges(released, present)
    .filter(({ type }) => BREAKING.has(type))
    .filter(({ description }) => !namesOf(description, released).some((name) => named.has(name)))
    .map(({ description }) => description);
}

/** The entries of the unreleased section that say "Breaking". */
function announcements(changelog: string): string[] {
  const section = changelog.split(/^(?=## )/m).find((part) => /^## .*unreleased/i.test(part)) ?? '';
  return section.split(/^(?=- |#)/m).filter((entry) => entry.startsWith('- ') && /\bbreaking\b/i.test(entry));
}

function wordsInCode(entry: string): string[] {
  return [...entry.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/**
 * Any of these names in the changelog announces the change: `Campaign.html`, `Campaign`, and for a field of a root type also its own
 * name. The new and old types of a field do not.
 */
function namesOf(description: string, schema: GraphQLSchema): string[] {
  const [about = ''] = description.split(' type from ');
  const words = about.match(/@?\w+(?:\.\w+)?/g) ?? [];
  return words.flatMap((word) => {
    const [type = '', field] = word.split('.');
    if (word.startsWith('@')) return [word];
    if (!isType(schema.getType(type))) return [];
    return field === undefined ? [type] : [word, type, ...(ROOTS.has(type) ? [field] : [])];
  });
}
