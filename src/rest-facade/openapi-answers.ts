/** The answers of a row for OpenAPI: its success in both dialects, and every possible refusal. */
import { z } from 'zod';
import type { Example } from './examples.ts';
import type { JsonSchema, SchemaBook } from './openapi-schemas.ts';
import type { RowParameter } from './row-parameters.ts';
import { IGNORED_HEADER, hasIgnoredInBody } from './ignored-parameters.ts';
import type { Row } from './row.ts';
import { countShape, type AnswerShape } from './shapes.ts';

/** The shapes that all rows share, by name. */
const messageShape = z.strictObject({ message: z.string() }).meta({ id: 'Refusal' });
const invalidParts = { message: z.string(), errors: z.record(z.string(), z.array(z.string())) };
const invalidShape = z
  .strictObject(invalidParts)
  .meta({ id: 'Invalid', description: '`errors` says for each parameter what is wrong.' });
const defectShape = z
  .strictObject({ message: z.string(), reference: z.string().meta({ description: 'It is in the log, too.' }) })
  .meta({ id: 'Defect' });
/** The classic dialect's answer for a taken address (decision D1). */
const bareErrorsShape = z.record(z.string(), z.array(z.string())).meta({ id: 'BareErrors' });
const linksShape = z
  .strictObject({ first: z.string(), last: z.string(), prev: z.string().nullable(), next: z.string().nullable() })
  .meta({ id: 'PageLinks' });
const metaShape = z
  .strictObject({
    current_page: z.int().min(1),
    per_page: z.int().min(1),
    from: countShape.nullable(),
    to: countShape.nullable(),
    last_page: z.int().min(1),
    total: countShape,
  })
  .meta({ id: 'PageMeta' });

const RETRY_AFTER = { 'Retry-After': { description: 'Seconds.', schema: { type: 'string' } } };
/** As in draft-ietf-httpapi-ratelimit-headers; every answer has them if the operator set a limit. */
const RATE_LIMIT = {
  RateLimit: { description: 'What is left, and for how many seconds.', schema: { type: 'string' } },
  'RateLimit-Policy': { description: 'How many requests in how many seconds.', schema: { type: 'string' } },
};

/** Names of parameters that a row does not know (decision D53). */
export const IGNORED_COMPONENT = {
  description:
    'Names of the parameters that nothing was done with, percent-encoded, separated by commas. Only if there are any.',
  schema: { type: 'string' },
};
const IGNORED = { [IGNORED_HEADER]: { $ref: '#/components/headers/Ignored' } };
const ignoredShape = z
  .array(z.string())
  .meta({ id: 'Ignored', description: 'Names of the parameters that nothing was done with. Only if there are any.' })
  .optional();

/** Refusals by status; each is a component of the document. */
const REFUSALS = {
  401: {
    name: 'Unauthenticated',
    description: 'No token, or one that does not work.',
    shape: messageShape,
    example: { message: 'Unauthenticated.' },
  },
  403: {
    name: 'Forbidden',
    description: 'The token may not do this, or the object belongs to another customer.',
    shape: messageShape,
    example: { message: 'This needs the token of an administrator.' },
  },
  404: {
    name: 'NotFound',
    description: 'The object does not exist.',
    shape: messageShape,
    example: { message: 'No list has this uid.' },
  },
  408: {
    name: 'TooSlow',
    description: 'A body above 5 MB did not arrive within 60 seconds.',
    shape: messageShape,
    example: { message: 'A large body must arrive within 60 seconds.' },
  },
  413: {
    name: 'TooLarge',
    description: 'The body is too large.',
    shape: messageShape,
    example: { message: 'A request body may have 5 MB.' },
  },
  415: {
    name: 'UnknownBody',
    description: 'The body is neither a form nor JSON.',
    shape: messageShape,
    example: { message: 'Send the body without Content-Encoding.' },
  },
  422: {
    name: 'Unprocessable',
    description: 'A parameter is wrong, or the object is in a state that does not allow it (`errors.status`).',
    shape: invalidShape,
    headers: IGNORED,
    example: { message: 'The given data was invalid.', errors: { name: ['The name field is required.'] } },
  },
  429: {
    name: 'TooMany',
    description: 'Too many requests.',
    shape: messageShape,
    headers: { ...RETRY_AFTER, ...RATE_LIMIT },
    example: { message: 'Too many requests.' },
  },
  500: {
    name: 'Defect',
    description: 'An error in the server.',
    shape: defectShape,
    example: {
      message: 'The server made a mistake. It is logged under this reference.',
      reference: '1f0e3dad99908345',
    },
  },
  503: {
    name: 'Unavailable',
    description: 'Not available for a moment.',
    shape: messageShape,
    headers: RETRY_AFTER,
    example: { message: 'The service is not available for a moment. Please try again.' },
  },
} as const;
type RefusalStatus = keyof typeof REFUSALS;

/** The refusals, for `components.responses`. */
export function refusalComponents(book: SchemaBook): Record<string, JsonSchema> {
  return Object.fromEntries(
    Object.values(REFUSALS).map((refusal) => [
      refusal.name,
      {
        description: refusal.description,
        ...('headers' in refusal ? { headers: refusal.headers } : {}),
        content: json(book.schemaOf(refusal.shape), { example: refusal.example }),
      },
    ]),
  );
}

export interface Answering {
  readonly row: Row;
  readonly parameters: readonly RowParameter[];
  readonly example: Example | undefined;
}

/** Every status that the row can answer. */
export function responsesOf({ row, parameters, example }: Answering, book: SchemaBook): Record<string, JsonSchema> {
  const refusals = refusalsOf(row, parameters).map((status) => [String(status), { $ref: refusalRef(status) }] as const);
  return {
    ...successes(answersOf(row), example, book),
    ...Object.fromEntries(refusals),
    ...(row.refuseClassic ? { 403: duplicateInClassic(book) } : {}),
    ...(row.refusesWithRows ? { 422: allFailed(row.refusesWithRows, book) } : {}),
    ...(row.refusesWith ? { 422: withMore(row.refusesWith, book) } : {}),
  };
}

/** The answer with the names that it ignored, where its body tells them. */
function answersOf(row: Row): AnswerShape {
  const { answers } = row;
  return (answers.kind === 'body' || answers.kind === 'created' || answers.kind === 'accepted') && hasIgnoredInBody(row)
    ? { ...answers, shape: withIgnored(answers.shape) }
    : answers;
}

function withIgnored(shape: z.ZodType): z.ZodType {
  if (shape instanceof z.ZodObject) return shape.extend({ ignored: ignoredShape });
  return shape instanceof z.ZodUnion
    ? z.union(shape.options.map((option) => (option instanceof z.ZodObject ? withIgnored(option) : option)))
    : shape;
}

function successes(answers: AnswerShape, example: Example | undefined, book: SchemaBook): Record<string, JsonSchema> {
  const shown = example?.answer === undefined ? {} : { example: example.answer };
  switch (answers.kind) {
    case 'body':
      return { 200: { description: 'Done.', headers: IGNORED, content: json(book.schemaOf(answers.shape), shown) } };
    case 'accepted':
      return {
        202: {
          description: 'Accepted: stored, and done from now on.',
          headers: IGNORED,
          content: json(book.schemaOf(answers.shape), shown),
        },
      };
    case 'created': {
      const schema = book.schemaOf(answers.shape);
      return {
        200: {
          description: 'Created; this is the answer of the classic dialect.',
          headers: IGNORED,
          content: json(schema, shown),
        },
        201: { description: 'Made.', headers: IGNORED, content: json(schema, shown) },
      };
    }
    case 'page':
      return { 200: pageResponse(book.schemaOf(answers.shape), shown, book) };
    case 'stream': {
      const types = answers.contentType.map((type) => [type.split(';', 1)[0] ?? type, streamed(type, shown)] as const);
      const content = Object.fromEntries(types);
      return { 200: { description: 'A download, written as it is made.', headers: IGNORED, content } };
    }
  }
}

function pageResponse(item: JsonSchema, shown: JsonSchema, book: SchemaBook): JsonSchema {
  const paginator = {
    title: 'standard',
    type: 'object',
    properties: {
      data: { type: 'array', items: item },
      links: book.schemaOf(linksShape),
      meta: book.schemaOf(metaShape),
    },
    required: ['data', 'links', 'meta'],
    additionalProperties: false,
  };
  return {
    description: 'One page; in the classic dialect an array.',
    headers: {
      'X-Total-Count': { description: 'How many there are on all pages.', schema: { type: 'string' } },
      Link: { description: 'The neighbouring pages (RFC 8288).', schema: { type: 'string' } },
      ...IGNORED,
    },
    content: json({ oneOf: [paginator, { title: 'classic', type: 'array', items: item }] }, shown),
  };
}

/** For a download in JSON only its beginning is described. */
function streamed(type: string, shown: JsonSchema): JsonSchema {
  return type.startsWith('application/json')
    ? { schema: { type: ['array', 'object'] } }
    : { schema: { type: 'string' }, ...shown };
}

function duplicateInClassic(book: SchemaBook): JsonSchema {
  return {
    description: `${REFUSALS[403].description} In the classic dialect also: the address is on the list already.`,
    content: json({ anyOf: [book.schemaOf(messageShape), book.schemaOf(bareErrorsShape)] }),
  };
}

function allFailed(shape: z.ZodType, book: SchemaBook): JsonSchema {
  return {
    description: `${REFUSALS[422].description} Or everything failed: then a row for each says why.`,
    content: json({ anyOf: [book.schemaOf(invalidShape), book.schemaOf(z.array(shape))] }),
  };
}

function withMore(more: z.ZodRawShape, book: SchemaBook): JsonSchema {
  return {
    description: REFUSALS[422].description,
    content: json(book.schemaOf(z.strictObject({ ...invalidParts, ...more }))),
  };
}

/** A parameter that identifies something may name something that does not exist. */
const NAMES_A_THING = /(^|_)(uid|id|email|subscriber)\]?$/;

function refusalsOf(
  { access, path, operations, takesHtml }: Row,
  parameters: readonly RowParameter[],
): RefusalStatus[] {
  const always: RefusalStatus[] = [...(takesHtml ? ([408] as const) : []), 413, 415, 422, 429, 500, 503];
  if (operations.length === 0) return always;
  const isNamed = path.includes(':') || parameters.some(({ names }) => names.some((name) => NAMES_A_THING.test(name)));
  const mayBeRefused = access !== 'public' || path.includes('login');
  return [...(mayBeRefused ? ([401, 403] as const) : []), ...(isNamed ? ([404] as const) : []), ...always];
}

function refusalRef(status: RefusalStatus): string {
  return `#/components/responses/${REFUSALS[status].name}`;
}

function json(schema: JsonSchema, more: JsonSchema = {}): JsonSchema {
  return { 'application/json': { schema, ...more } };
}
