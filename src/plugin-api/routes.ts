/**
 * What a plugin answers itself: an entry of the registry hook `route`, an address below `/plugins/<vendor>/<name>`. The plugin gets the
 * request as data and returns the answer as data. Files of its folder `resources/public` need no route: they are at `.../files/<name>`.
 */
import type { PluginViewer } from './graphql.ts';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/plugins/<vendor>/<name>`: `/` or `/reports/:uid`. `/files` and `/pages` are Mailwright's. */
  readonly path: string;
  /** `session` (the default): who is logged in in the browser. `admin`: an administrator. `public`: anybody. */
  readonly auth?: 'session' | 'admin' | 'public';
  /** Has ten seconds. */
  handle(request: RouteRequest): RouteAnswer | Promise<RouteAnswer>;
}

export interface RouteRequest {
  readonly method: string;
  /** Parts of the path, decoded. */
  readonly params: Readonly<Record<string, string>>;
  /** Of equal names the first. */
  readonly query: Readonly<Record<string, string>>;
  /** The type of the body in small letters, without parameters; empty without a body. */
  readonly contentType: string;
  /** At most 256 KB. */
  readonly body: Uint8Array;
  /** The fields of a urlencoded form; of equal names the first. */
  readonly form: Readonly<Record<string, string>>;
  /** Null: nobody is logged in; only in a `public` route. */
  readonly viewer: PluginViewer | null;
  /** The address of a file of `resources/public`, which browsers keep until the plugin's files change. */
  fileUrl(name: string): string;
}

/** One kind of body, or none. */
export interface RouteAnswer {
  /** 200, or 303 with `redirect` and `redirectTo`, unless given. */
  readonly status?: number;
  readonly html?: string;
  readonly text?: string;
  readonly json?: unknown;
  /** With `contentType`. Shown by browsers without scripts and apart from the installation. */
  readonly bytes?: Uint8Array;
  readonly contentType?: string;
  /** The browser saves the body under this name. */
  readonly fileName?: string;
  /** A path of this installation. */
  readonly redirect?: string;
  /** With a `redirect` to a checkout of Mailwright: why something failed, a sentence for the customer. It is shown there once. */
  readonly error?: string;
  /** An address of another site, over https, at a host that the manifest names in `browserHosts`. */
  readonly redirectTo?: string;
  /** A page of `html` may load scripts of the plugin's own files, and scripts may call this installation. Without it there are none. */
  readonly usesOwnScripts?: boolean;
}
