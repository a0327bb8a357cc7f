/** Faults of a flow's graph: ids, edges, the start, ways round without a wait (D83); and what is only strange. */
import { calendarDays, START, type Duration } from './flow-parts.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import { groupedTargets, reaches } from './flow-ways.ts';
import type { Flow, FlowGraph } from './flow.ts';
import type { FlowNode } from './flow-nodes.ts';
import { portsOf } from './flow-ports.ts';

const MINUTES_OF_HOUR = 60;

/** Nodes, goals and exits share one space of ids: each is a place in the history. */
export function* idFaults({ nodes, goals, exits }: Flow): Generator<FlowFault> {
  const seen = new Set<string>();
  for (const { id } of [...nodes, ...goals, ...exits]) {
    if (seen.has(id)) yield flowFault('id_taken', `Two parts of the flow have the id “${id}”.`, id, 'id');
    seen.add(id);
  }
}

export function* edgeFaults({ nodes, edges }: Flow): Generator<FlowFault> {
  const known = new Map(nodes.map((one) => [one.id, one]));
  const taken = new Set<string>();
  for (const { from, port, to } of edges) {
    const node = known.get(from);
    if (!node && from !== START)
      yield flowFault('unknown_node', `An edge begins at “${from}”, which does not exist.`, from);
    else if (!portsAt(from, node).includes(port)) yield unknownPort(from, port, portsAt(from, node));
    if (!known.has(to))
      yield flowFault('unknown_node', `An edge from “${from}” leads to “${to}”, which does not exist.`, from);
    if (taken.has(`${from} ${port}`))
      yield flowFault('port_taken', `Two edges begin at the port “${port}” of “${from}”: only one may.`, from, port);
    taken.add(`${from} ${port}`);
  }
}

function portsAt(from: string, node: FlowNode | undefined): readonly string[] {
  if (from === START) return ['next'];
  return node ? portsOf(node) : [];
}

function unknownPort(from: string, port: string, ports: readonly string[]): FlowFault {
  const those = ports.length === 0 ? 'It has none.' : `It has: ${ports.join(', ')}.`;
  return flowFault('unknown_port', `“${from}” has no port “${port}”. ${those}`, from, port);
}

export function* startFaults({ triggers, nodes }: Flow, graph: FlowGraph): Generator<FlowFault> {
  if (triggers.length === 0) yield flowFault('no_trigger', 'The flow needs at least one trigger.', null, 'triggers');
  if (nodes.length === 0) yield flowFault('no_node', 'The flow needs at least one node.', null, 'nodes');
  else if (!graph.next(START))
    yield flowFault('no_start', `The flow needs an edge from “${START}” to its first node.`, null, 'edges');
}

/** Every way round passes a wait of at least an hour (D83): what is left without such waits has no way round. */
export function* loopFaults({ nodes, edges }: Flow, graph: FlowGraph): Generator<FlowFault> {
  const quick = new Set(nodes.filter((one) => !isLongWait(one)).map(({ id }) => id));
  const ways = groupedTargets(edges.filter(({ from, to }) => quick.has(from) && quick.has(to)));
  for (const id of quick) {
    if (!reaches(ways, id, id)) continue;
    const message = 'This way round has no wait of at least one hour, so it would run without end. Put one into it.';
    yield flowFault('loop_without_wait', message, graph.nodes.get(id)?.id ?? id);
    return;
  }
}

/** Nobody comes through it twice within an hour. A person's event or date may come at once. */
function isLongWait(node: FlowNode): boolean {
  if (node.type === 'wait') return isAnHour(node.for);
  return node.type === 'wait_until' && node.weekdays !== undefined;
}

function isAnHour(given: Duration): boolean {
  return calendarDays(given) !== undefined || given.hours !== undefined || (given.minutes ?? 0) >= MINUTES_OF_HOUR;
}

/** What may be meant so. */
export function* strangeParts({ triggers, nodes }: Flow, graph: FlowGraph): Generator<FlowFault> {
  for (const { id } of nodes)
    if (!graph.reaches(START, id)) yield flowFault('unreachable', 'No edge leads here: nobody comes to this node.', id);
  for (const node of nodes)
    if (node.type.startsWith('wait') && portsOf(node).every((port) => !graph.next(node.id, port)))
      yield flowFault('nothing_follows', 'Nothing follows this wait.', node.id);
  const seen = new Set<string>();
  for (const [no, one] of triggers.entries()) {
    const text = JSON.stringify(one);
    if (seen.has(text)) yield flowFault('trigger_twice', 'The same trigger stands here twice.', null, `triggers.${no}`);
    seen.add(text);
  }
}
