/** The rights that an administrator must name when a plugin is activated: those beside hooks and tables. */
import type { PluginRights } from '../../src/plugin-api/index.ts';

/** The body of `POST /plugins/:vendor/:name/activate` that agrees to all that the plugin asks for. */
export function grantsOf({ scopes, hosts, browserHosts, customers }: PluginRights): Readonly<Record<string, unknown>> {
  return {
    ...(scopes.length > 0 ? { scopes } : {}),
    ...(hosts.length > 0 ? { hosts } : {}),
    ...(browserHosts.length > 0 ? { browser_hosts: browserHosts } : {}),
    ...(customers === 'all' ? { for_all_customers: true } : {}),
  };
}

/** The same for curl. */
export function activationCommand(fullName: string, rights: PluginRights): string {
  const data = Object.entries(grantsOf(rights)).map(([key, value]) => ` -d ${key}=${String(value)}`);
  return `  curl -X POST -H "Authorization: Bearer $TOKEN" http://127.0.0.1:3000/api/v1/plugins/${fullName}/activate${data.join('')}`;
}
