/**
 * What a plugin may use, beside its own code. Its manifest (`package.json`, key `mailwright`) asks for it, an administrator grants it
 * when the plugin is activated, and `PluginServices` and the hooks refuse everything else.
 */
export interface PluginRights {
  /** GraphQL scopes, such as `lists:read`. */
  readonly scopes: readonly string[];
  /** The customers for whom it may act: those that have switched it on, or all. */
  readonly customers: 'chosen' | 'all';
  /** Hooks of Mailwright for which it may register: names, or beginnings that end in `*`. */
  readonly hooks: readonly string[];
  /** Hosts that it may call: `api.example.com`, `*.example.com`, `api.example.com:8443`. */
  readonly hosts: readonly string[];
  /** Hosts to which its routes may send a browser, such as the checkout of a vendor; written as `hosts`. */
  readonly browserHosts: readonly string[];
  /** Whether it has tables of its own. */
  readonly tables: boolean;
}

/** A manifest that asks for nothing. */
export const NO_RIGHTS: PluginRights = {
  scopes: [],
  customers: 'chosen',
  hooks: [],
  hosts: [],
  browserHosts: [],
  tables: false,
};

/** What of `wanted` is not in `granted`; undefined: nothing. */
export function rightsBeyond(granted: PluginRights, wanted: PluginRights): PluginRights | undefined {
  const beyond: PluginRights = {
    scopes: wanted.scopes.filter((scope) => !granted.scopes.includes(scope)),
    customers: granted.customers === 'all' ? 'chosen' : wanted.customers,
    hooks: wanted.hooks.filter((hook) => !allowsHook(granted, hook)),
    hosts: wanted.hosts.filter((host) => !granted.hosts.includes(host)),
    browserHosts: wanted.browserHosts.filter((host) => !granted.browserHosts.includes(host)),
    tables: wanted.tables && !granted.tables,
  };
  const { scopes, customers, hooks, hosts, browserHosts, tables } = beyond;
  const lists = [scopes, hooks, hosts, browserHosts];
  const isNone = lists.every((list) => list.length === 0) && customers === 'chosen' && !tables;
  return isNone ? undefined : beyond;
}

/** Whether a plugin with these rights may use the hook. */
export function allowsHook({ hooks }: Pick<PluginRights, 'hooks'>, hook: string): boolean {
  return hooks.some((entry) => (entry.endsWith('*') ? hook.startsWith(entry.slice(0, -1)) : hook === entry));
}
