/** What the reference page reads of the OpenAPI document. */
import { z } from 'zod';

const schemaPart = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  title: z.string().optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  const: z.unknown().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), schemaPart).optional();
  },
  get items() {
    return schemaPart.optional();
  },
  get anyOf() {
    return z.array(schemaPart).optional();
  },
  get oneOf() {
    return z.array(schemaPart).optional();
  },
});
export type SchemaPart = z.infer<typeof schemaPart>;

const content = z.record(z.string(), z.looseObject({ schema: schemaPart.optional(), example: z.unknown().optional() }));

const answer = z.looseObject({
  $ref: z.string().optional(),
  description: z.string().optional(),
  content: content.optional(),
});
export type Answer = z.infer<typeof answer>;

const parameter = z.looseObject({
  $ref: z.string().optional(),
  name: z.string().optional(),
  in: z.string().optional(),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema: schemaPart.optional(),
  example: z.unknown().optional(),
});
export type Parameter = z.infer<typeof parameter>;

const operation = z.looseObject({
  operationId: z.string(),
  tags: z.tuple([z.string()]),
  summary: z.string(),
  description: z.string().optional(),
  parameters: z.array(parameter),
  requestBody: z.looseObject({ content }).optional(),
  responses: z.record(z.string(), answer),
  'x-access': z.enum(['public', 'token', 'admin']),
});
export type Operation = z.infer<typeof operation>;

/** The parts of the document that the page shows. */
export const referenceDocument = z.looseObject({
  info: z.looseObject({ description: z.string() }),
  tags: z.array(z.looseObject({ name: z.string() })),
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({
    schemas: z.record(z.string(), schemaPart),
    responses: z.record(z.string(), answer),
    parameters: z.record(z.string(), parameter),
  }),
});
export type ReferenceDocument = z.infer<typeof referenceDocument>;

/** The name at the end of a reference: `#/components/schemas/List` -> `List`. */
export function nameIn(reference: string): string {
  return reference.slice(reference.lastIndexOf('/') + 1);
}
