/** The shape of a row of a plugin, as it hands it over. */
import { z } from 'zod';

const TEXT_LENGTH_MAX = 500;
const PARAMETERS_MAX = 50;
/** JSON Schema of an answer. */
const SHAPE_CHARACTERS_MAX = 20_000;
const DOCUMENT_CHARACTERS_MAX = 20_000;

const PATH = /^(\/[a-z0-9][a-z0-9._-]*|\/:[a-z][a-z0-9_]*)+$/;
const NAME = /^[a-z][a-z0-9_]{0,49}$/;

type PluginFunction = (...given: readonly unknown[]) => unknown;

const called = z.custom<PluginFunction>((value) => typeof value === 'function');

const parameter = z.strictObject({
  kind: z.enum(['text', 'integer', 'flag', 'time', 'object', 'any']),
  isRequired: z.boolean().optional(),
  words: z.array(z.string().max(TEXT_LENGTH_MAX)).min(1).max(PARAMETERS_MAX).optional(),
});

/** No references: there is nothing to which they could point. */
const jsonSchema = z
  .record(z.string(), z.json())
  .refine((value) => JSON.stringify(value).length <= SHAPE_CHARACTERS_MAX)
  .refine((value) => !/"\$(ref|id|defs|anchor|dynamicRef)":/.test(JSON.stringify(value)))
  // The name of a shared shape.
  .transform(({ id: _id, ...schema }) => schema);

export const pluginRowShape = z.strictObject({
  method: z.enum(['GET', 'POST', 'PATCH', 'PUT', 'DELETE']),
  path: z.string().max(TEXT_LENGTH_MAX).regex(PATH),
  access: z.enum(['public', 'token', 'admin']),
  summary: z.string().min(1).max(TEXT_LENGTH_MAX),
  details: z.string().max(TEXT_LENGTH_MAX).optional(),
  parameters: z
    .record(z.string().regex(NAME), parameter)
    .refine((value) => Object.keys(value).length <= PARAMETERS_MAX)
    .optional(),
  operation: z.string().min(1).max(DOCUMENT_CHARACTERS_MAX),
  variables: called.optional(),
  present: called,
  answers: z.strictObject({ kind: z.enum(['body', 'created', 'page']), shape: jsonSchema }),
});

export type PluginRowShape = z.output<typeof pluginRowShape>;

const RULES: Readonly<Record<string, string>> = {
  method: '"method" must be GET, POST, PATCH, PUT or DELETE.',
  path: '"path" must be a path of small letters, digits, ".", "_" and "-", with parts such as :uid.',
  access: '"access" must be "public", "token" or "admin".',
  summary: `"summary" must be a sentence of at most ${TEXT_LENGTH_MAX} characters.`,
  details: `"details" must be a text of at most ${TEXT_LENGTH_MAX} characters.`,
  parameters: `"parameters" must have at most ${PARAMETERS_MAX} names in snake_case, each with a "kind" and, if you like, "isRequired" and "words".`,
  operation: `"operation" must be the text of a GraphQL document of at most ${DOCUMENT_CHARACTERS_MAX} characters.`,
  variables: '"variables" must be a function.',
  present: '"present" must be a function.',
  answers:
    '"answers" must have a "kind" ("body", "created" or "page") and a "shape", which is JSON Schema without references.',
};

/** What is wrong, in sentences. */
export function rowShapeFault({ issues }: z.ZodError): string {
  const names = new Set(issues.map(({ path: [name] }) => String(name)));
  const rules = [...names].flatMap((name) => RULES[name] ?? []);
  return rules.join(' ') || `It must be an object with ${Object.keys(RULES).join(', ')}, and nothing else.`;
}
