/**
 * Whether a flow makes sense as a whole (D91): each fault names node and field, has a code and a sentence. Warnings do not stop a
 * publication. Knows no database: what a flow refers to is checked in flow-references.ts.
 */
import { checkInput } from '../../../lib/text.ts';
import { flowFault, type FlowFault } from './flow-fault.ts';
import { keyFaults, mailFaults } from './flow-meanings.ts';
import { edgeFaults, idFaults, loopFaults, startFaults, strangeParts } from './flow-structure.ts';
import { flow as flowSchema, FLOW_BYTES_MAX, FlowGraph, type Flow } from './flow.ts';

export interface CheckedFlow {
  /** Absent when the shape is wrong. */
  readonly flow?: Flow;
  readonly faults: readonly FlowFault[];
  readonly warnings: readonly FlowFault[];
}

/** More faults are not listed. */
const FAULTS_SHOWN_MAX = 100;

/** Reads a flow from outside, and checks it: first its shape; what follows from it only when that is right. */
export function checkFlow(given: unknown): CheckedFlow {
  const { data, errors } = checkInput(flowSchema, given);
  if (errors) return { faults: shapeFaults(given, errors).slice(0, FAULTS_SHOWN_MAX), warnings: [] };
  if (Buffer.byteLength(JSON.stringify(data)) > FLOW_BYTES_MAX) {
    const message = `A flow may not be larger than ${FLOW_BYTES_MAX / 1024} KiB.`;
    return { faults: [flowFault('too_large', message)], warnings: [] };
  }
  const faults = [...idFaults(data), ...edgeFaults(data)];
  if (faults.length > 0) return { flow: data, faults: faults.slice(0, FAULTS_SHOWN_MAX), warnings: [] };
  const graph = new FlowGraph(data);
  const wholes = [
    ...startFaults(data, graph),
    ...loopFaults(data, graph),
    ...mailFaults(data, graph),
    ...keyFaults(data),
  ];
  return {
    flow: data,
    faults: wholes.slice(0, FAULTS_SHOWN_MAX),
    warnings: [...strangeParts(data, graph)].slice(0, FAULTS_SHOWN_MAX),
  };
}

/** `nodes.3.for.days` is the field `for.days` of the node with that place. */
function shapeFaults(given: unknown, errors: Readonly<Record<string, readonly string[]>>): FlowFault[] {
  return Object.entries(errors).flatMap(([path, messages]) => {
    const [, group = '', no = '', field] = /^(nodes|goals|exits)\.(\d+)(?:\.(.*))?$/.exec(path) ?? [];
    const node = group === '' ? null : idAt(given, group, Number(no));
    const place = node === null ? path : (field ?? null);
    // Of a node as a whole, the last name of the path is that of the list.
    const one = (message: string) =>
      field === undefined ? message.replace(`The ${group} `, `The ${group.slice(0, -1)} `) : message;
    return messages.map((message) => flowFault('invalid', group === '' ? message : one(message), node, place));
  });
}

function idAt(given: unknown, group: string, no: number): string | null {
  const all: unknown = typeof given === 'object' && given !== null ? Reflect.get(given, group) : undefined;
  const one: unknown = Array.isArray(all) ? all[no] : undefined;
  const id: unknown = typeof one === 'object' && one !== null ? Reflect.get(one, 'id') : undefined;
  return typeof id === 'string' ? id : null;
}
