/** The demo's only way to the product: HTTP and GraphQL, as any other program would use it. */
import { createClient } from 'graphql-ws/client';
import { z } from 'zod';
import { DemoError } from './demo-error.ts';

export type Variables = Readonly<Record<string, unknown>>;

export interface Client {
  readonly url: string;
  /** Runs an operation and answers its data, checked. Throws DemoError for every refusal. */
  run<Data>(document: string, variables: Variables, data: z.ZodType<Data>): Promise<Data>;
  /** Follows a subscription until it ends or the caller stops. */
  watch<Data>(document: string, variables: Variables, data: z.ZodType<Data>): AsyncGenerator<Data>;
  /** A JSON answer of the product's own pages, checked. */
  read<Data>(path: string, data: z.ZodType<Data>): Promise<Data>;
}

const answer = z.object({
  data: z.unknown(),
  errors: z.array(z.object({ message: z.string() })).optional(),
});
/** The failure types of result unions. */
const refusal = z.object({
  __typename: z.string().endsWith('Error'),
  message: z.string(),
  fields: z.array(z.object({ field: z.string(), messages: z.array(z.string()) })).optional(),
});

/** A client for the product at `url`; without a token it can only log in. */
export function connect(url: string, token?: string): Client {
  const authorization: Record<string, string> = token === undefined ? {} : { Authorization: `Bearer ${token}` };
  return {
    url,
    async run(document, variables, data) {
      const response = await fetch(`${url}/graphql`, {
        method: 'POST',
        headers: { ...authorization, 'Content-Type': 'application/json' },
        body: JSON.stringify({ query: document, variables }),
      });
      return dataOf(await response.json(), data);
    },
    async *watch(document, variables, data) {
      const socket = createClient({ url: `${url.replace(/^http/, 'ws')}/graphql`, connectionParams: authorization });
      try {
        for await (const event of socket.iterate({ query: document, variables })) yield dataOf(event, data);
      } finally {
        await socket.dispose();
      }
    },
    async read(path, data) {
      const response = await fetch(`${url}${path}`, { headers: authorization });
      if (!response.ok) throw new DemoError(`${url}${path} answered ${response.status}.`);
      return data.parse(await response.json());
    },
  };
}

function dataOf<Data>(json: unknown, schema: z.ZodType<Data>): Data {
  const { data, errors } = answer.parse(json);
  if (errors?.[0]) throw new DemoError(`Mailwright refused: ${errors[0].message}`);
  if (typeof data === 'object' && data !== null) Object.values(data).forEach(throwRefusal);
  return schema.parse(data);
}

function throwRefusal(result: unknown): void {
  const refused = refusal.safeParse(result);
  if (!refused.success) return;
  const { message, fields = [] } = refused.data;
  const details = fields.map(({ field, messages }) => `\n  ${field}: ${messages.join(' ')}`).join('');
  throw new DemoError(`Mailwright refused: ${message}${details}`);
}
