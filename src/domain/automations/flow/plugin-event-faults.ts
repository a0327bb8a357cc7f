/** Events of plugins that a flow names: without the plugin none of them ever comes (D91). */
import { customerUidsOf } from '../../accounts/customer-store.ts';
import type { Context } from '../../context.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import type { Flow } from './flow.ts';

/** A fault for each event whose plugin is not active, or may not act for the customer. */
export async function pluginEventFaults(
  { db, hooks, plugins }: Context,
  customerId: bigint,
  flow: Flow,
): Promise<FlowFault[]> {
  const named = namedPlugins(flow);
  if (named.length === 0) return [];
  const [customer] = await customerUidsOf(db, [customerId]);
  const isThere = (plugin: string) => {
    const [vendor = '', name = ''] = plugin.split('/');
    return plugins?.isLive({ vendor, name }) !== false && hooks.mayActFor(plugin, customer?.uid ?? '');
  };
  return named.flatMap(({ plugin, node, field }) => (isThere(plugin) ? [] : [unknownPlugin(plugin, node, field)]));
}

interface NamedPlugin {
  readonly plugin: string;
  readonly node: string | null;
  readonly field: string;
}

function namedPlugins({ triggers, nodes, goals, exits }: Flow): readonly NamedPlugin[] {
  const ofTriggers = triggers.flatMap((trigger, no) =>
    trigger.type === 'plugin_event' ? [{ plugin: trigger.plugin, node: null, field: `triggers.${no}.plugin` }] : [],
  );
  const waits = nodes.filter((node) => node.type === 'wait_for_event');
  const ofOthers = [...waits, ...goals, ...exits].flatMap(({ id, event }) =>
    event?.type === 'plugin_event' ? [{ plugin: event.plugin, node: id, field: 'event.plugin' }] : [],
  );
  return [...ofTriggers, ...ofOthers];
}

function unknownPlugin(plugin: string, node: string | null, field: string): FlowFault {
  const message = `No active plugin ${plugin} acts for you, so its event never comes: activate or switch on the plugin, or name another one.`;
  return flowFault('unknown_plugin', message, node, field);
}
