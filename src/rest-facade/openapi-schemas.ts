/** From the shapes of answers (zod) to the schemas of an OpenAPI 3.1 document; a shape with an `id` is shared. */
import { z } from 'zod';

export type JsonSchema = Readonly<Record<string, unknown>>;

/** Converts shapes into schemas and keeps those that have a name. */
export interface SchemaBook {
  schemaOf(shape: z.ZodType): JsonSchema;
  /** Names a schema and returns the reference to it. */
  share(name: string, schema: JsonSchema): JsonSchema;
  /** All named ones so far, by name. */
  named(): Readonly<Record<string, JsonSchema>>;
}

/** An empty book. Its `schemaOf` throws when two different shapes have one name. */
export function openSchemaBook(): SchemaBook {
  const kept = new Map<string, JsonSchema>();
  const keep = (name: string, schema: JsonSchema) => {
    const known = kept.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(schema))
      throw new Error(`Two different shapes of answers are called ${name}.`);
    kept.set(name, schema);
  };
  return {
    schemaOf(shape) {
      const converted: JsonSchema = z.toJSONSchema(shape, { io: 'output', override: simplify });
      const { $schema: _dialect, $defs = {}, ...schema } = relocated(converted);
      for (const [name, definition] of Object.entries(asSchema($defs))) keep(name, withoutId(asSchema(definition)));
      return schema;
    },
    share(name, schema) {
      keep(name, schema);
      return { $ref: `#/components/schemas/${name}` };
    },
    named: () => Object.fromEntries([...kept].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** Removes what the library writes without meaning, and adds what it cannot write. */
function simplify({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  if (jsonSchema['minimum'] === Number.MIN_SAFE_INTEGER) delete jsonSchema['minimum'];
  if (jsonSchema['maximum'] === Number.MAX_SAFE_INTEGER) delete jsonSchema['maximum'];
  // Property names by a pattern, and no others.
  if (jsonSchema['patternProperties'] !== undefined) jsonSchema['additionalProperties'] = false;
}

/** References point into `components`, where OpenAPI has shared schemas. */
function relocated(schema: JsonSchema): JsonSchema {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/$defs/', '"$ref":"#/components/schemas/');
  return asSchema(JSON.parse(text));
}

function withoutId({ id: _id, ...schema }: JsonSchema): JsonSchema {
  return schema;
}

function asSchema(value: unknown): JsonSchema {
  if (typeof value !== 'object' || value === null) throw new TypeError('A schema must be an object.');
  return { ...value };
}
