/** What the PayPal double answers: errors and pages in PayPal's form; and readers of what it was sent. */

/** The payer's id. */
export const PAYER = 'PAYERA23B45CD';

export type Values = Record<string, unknown>;
export interface Answer {
  readonly status: number;
  readonly body: Values | null;
}

const PAGE_MAX = 20;

export function page(url: URL, name: string, all: readonly Values[]): Answer {
  const size = Number(url.searchParams.get('page_size') ?? 10);
  const number = Number(url.searchParams.get('page') ?? 1);
  if (size < 1 || size > PAGE_MAX || number < 1)
    return problem(400, 'INVALID_PARAMETER_VALUE', 'The value of a field is invalid.');
  const end = number * size;
  const links = end < all.length ? [{ rel: 'next', href: `http://x${url.pathname}?page=${number + 1}` }] : [];
  const total = url.searchParams.get('total_required') === 'true';
  const totals = { total_items: all.length, total_pages: Math.ceil(all.length / size) };
  return { status: 200, body: { [name]: all.slice(end - size, end), links, ...(total && totals) } };
}

export function problem(status: number, issue: string, description: string, links: readonly Values[] = []): Answer {
  const [name, message] =
    status === 422
      ? [
          'UNPROCESSABLE_ENTITY',
          'The requested action could not be performed, semantically incorrect, or failed business validation.',
        ]
      : [issue, description];
  return { status, body: { name, message, debug_id: 'f1a2b3c4d5e6f', details: [{ issue, description }], links } };
}

export function missing(): Answer {
  const details = [
    {
      issue: 'INVALID_RESOURCE_ID',
      description: 'Specified resource ID does not exist. Please check the resource ID and try again.',
    },
  ];
  const message = 'The specified resource does not exist.';
  return { status: 404, body: { name: 'RESOURCE_NOT_FOUND', message, debug_id: 'f1a2b3c4d5e6f', details } };
}

/** Absent, or of a length that is allowed. */
export function isText(value: unknown, lengthMax: number): boolean {
  return value === undefined || (typeof value === 'string' && value !== '' && value.length <= lengthMax);
}

export function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null;
}

export function objectOf(value: unknown): Values {
  return isValues(value) ? { ...value } : {};
}

/** The objects themselves, not copies. */
export function listOf(value: unknown): Values[] {
  return Array.isArray(value) ? value : [];
}
