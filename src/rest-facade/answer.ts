/** The answer of a row, before a dialect shapes it. */

export type Answer =
  | { readonly kind: 'body'; readonly body: unknown }
  /** 201 in the standard dialect, 200 in the classic one (decision D1). */
  | { readonly kind: 'created'; readonly body: unknown }
  /** 202: it is taken, and done afterwards. */
  | { readonly kind: 'accepted'; readonly body: unknown }
  | { readonly kind: 'page'; readonly page: Page }
  | { readonly kind: 'stream'; readonly stream: TextStream };

/** One page of an index; shaped by decision D2. */
export interface Page {
  readonly nodes: readonly unknown[];
  readonly total: number;
  readonly page: number;
  readonly perPage: number;
}

/** A download that is written piece by piece. */
export interface TextStream {
  readonly contentType: string;
  readonly fileName: string;
  readonly pieces: AsyncIterable<string | Uint8Array>;
}

/** 200 with this body. */
export function ok(body: unknown): Answer {
  return { kind: 'body', body };
}

/** The action result of specification 2.12: `{status: 1, message, <kind>_uid, ...}`. */
export function done(message: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { kind: 'body', body: { status: 1, message, ...more } };
}

/** The action result of a create. */
export function created(message: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { kind: 'created', body: { status: 1, message, ...more } };
}

/** The action result of what is done afterwards. */
export function accepted(message: string, more: Readonly<Record<string, unknown>> = {}): Answer {
  return { kind: 'accepted', body: { status: 1, message, ...more } };
}

/** One page of an index, its rows presented one by one. */
export function page<Node>(
  source: { readonly nodes: readonly Node[] } & Omit<Page, 'nodes'>,
  present: (node: Node) => unknown,
): Answer {
  const { total, page: number, perPage } = source;
  return { kind: 'page', page: { nodes: source.nodes.map(present), total, page: number, perPage } };
}

/** A download. */
export function stream(download: TextStream): Answer {
  return { kind: 'stream', stream: download };
}
