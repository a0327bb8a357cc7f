/** How a plugin calls other servers. */

export interface FetchOptions {
  /** `GET` if absent. */
  readonly method?: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  /** At most 5 MB. */
  readonly body?: string | Uint8Array;
  /** Until the last byte of the answer; 15,000 if absent, 60,000 at most. */
  readonly timeoutMs?: number;
}

export interface FetchAnswer {
  readonly status: number;
  /** By names in small letters. */
  readonly headers: Readonly<Record<string, string>>;
  /** At most 5 MB. */
  readonly body: Uint8Array;
  text(): string;
  /** Throws when the body is no JSON. */
  json(): unknown;
}

/**
 * Calls a host that the manifest names, over http or https. Redirects are not followed: they are answers, with `location` among the
 * headers. Needs `hosts` in the manifest. Rejects with a sentence when the host is not named, is not a public address and not allowed by
 * the operator (`OUTBOUND_ALLOW_HOSTS`), does not answer in time, or answers too much.
 */
export type PluginFetch = (url: string, options?: FetchOptions) => Promise<FetchAnswer>;
