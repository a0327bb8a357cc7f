/** One request to the installation that is tested. */

export interface RestAnswer {
  readonly status: number;
  /** JSON, or the text of another type. */
  readonly body: unknown;
}

export interface RestOptions {
  /** GET unless given. */
  readonly method?: string;
  /** Sent as JSON. */
  readonly body?: unknown;
}

export type Rest = (path: string, options?: RestOptions) => Promise<RestAnswer>;

/** Sends it with the token, and reads the answer to its end. */
export async function request(
  { baseUrl, token }: { readonly baseUrl: string; readonly token: string },
  path: string,
  { method = 'GET', body }: RestOptions = {},
): Promise<RestAnswer> {
  const response = await fetch(`${baseUrl}${path}`, {
    method,
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/json',
      ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  const isJson = /\bjson\b/.test(response.headers.get('content-type') ?? '');
  return { status: response.status, body: isJson ? JSON.parse(text) : text };
}
