/** An administrator who works with plugins by GraphQL. */
import { expect } from 'vitest';

export interface Answered {
  readonly __typename: string;
  readonly status?: string;
  readonly version?: string;
  readonly isLive?: boolean;
  readonly fault?: string | null;
  readonly error?: string | null;
  readonly isNewGrantNeeded?: boolean;
  readonly wants?: object;
  readonly granted?: object | null;
  readonly firstActivatedAt?: string | null;
  readonly activatedAt?: string | null;
  readonly name?: string;
  readonly code?: string;
  readonly fields?: readonly { readonly field?: string; readonly messages: readonly string[] }[];
}

export interface PluginClient {
  graphql(query: string, variables?: object): Promise<Record<string, Answered>>;
  /** `agreed`: the rights that are granted. */
  activate(plugin: string, agreed?: object): Promise<Answered>;
  deactivate(plugin: string): Promise<Answered>;
  remove(plugin: string, more?: { keepData?: boolean }): Promise<Answered>;
  plugin(plugin: string): Promise<Answered>;
  discover(): Promise<void>;
  /** For the customer of the token. The process that answers knows it then. */
  switchOn(plugin: string): Promise<void>;
  switchOff(plugin: string): Promise<void>;
}

const RIGHTS = '{ scopes forAllCustomers hooks hosts tables }';
const FIELDS = `name version status isLive fault error firstActivatedAt activatedAt isNewGrantNeeded wants ${RIGHTS} granted ${RIGHTS}`;
const OFFERED = '... on OfferedPlugin { name }';
const ANSWERS: Readonly<Record<string, string>> = {
  ...{ deletePlugin: '... on DeletedPlugin { name }', switchPluginOn: OFFERED, switchPluginOff: OFFERED },
};
const ERRORS = '... on Error { message code } ... on ValidationError { fields { messages } }';

export function pluginClient({ baseUrl, token }: { readonly baseUrl: string; readonly token: string }): PluginClient {
  const graphql = async (query: string, variables: object = {}) => {
    const response = await fetch(`${baseUrl}/graphql`, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      body: JSON.stringify({ query, variables }),
    });
    const { data, errors } = await response.json();
    expect(errors).toBeUndefined();
    return data;
  };
  const change = async (mutation: string, plugin: string, more: object = {}): Promise<Answered> => {
    const type = ANSWERS[mutation] ?? `... on Plugin { ${FIELDS} }`;
    const input = `${mutation[0]?.toUpperCase()}${mutation.slice(1)}Input!`;
    const query = `mutation ($input: ${input}) { it: ${mutation}(input: $input) { __typename ${type} ${ERRORS} } }`;
    return (await graphql(query, { input: { ...keyOf(plugin), ...more } })).it;
  };
  const turn = async (mutation: string, plugin: string): Promise<void> => {
    const { __typename } = await change(mutation, plugin);
    expect(__typename).toBe('OfferedPlugin');
  };
  return {
    graphql,
    switchOn: (plugin) => turn('switchPluginOn', plugin),
    switchOff: (plugin) => turn('switchPluginOff', plugin),
    activate: (plugin, agreed) => change('activatePlugin', plugin, agreed),
    deactivate: (plugin) => change('deactivatePlugin', plugin),
    remove: (plugin, more) => change('deletePlugin', plugin, more),
    async plugin(plugin) {
      const query = `query ($vendor: String!, $name: String!) {
        it: plugin(vendor: $vendor, name: $name) { __typename ... on Plugin { ${FIELDS} } ${ERRORS} }
      }`;
      return (await graphql(query, keyOf(plugin))).it;
    },
    async discover() {
      await graphql('mutation { discoverPlugins { ... on DiscoverPluginsSuccess { nodes { name } } } }');
    },
  };
}

function keyOf(plugin: string) {
  const [vendor, name] = plugin.split('/');
  return { vendor, name };
}
