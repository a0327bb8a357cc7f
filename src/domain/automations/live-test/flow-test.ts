/**
 * A live test of a flow (D91): one way through a draft or a version, by a virtual clock that jumps over waits, with its mails really sent to one
 * address. It is no run: it has no entry, counts at no node, and changes nobody.
 */
import { z } from 'zod';
import { emailAddress } from '../../../lib/text.ts';
import type { Flow } from '../flow/flow.ts';
import { portsOf } from '../flow/flow-ports.ts';
import { placeFilterInput } from '../runs/seen-run.ts';

export type FlowTestStatus = 'running' | 'done' | 'cancelled' | 'failed';

/** Why it failed. */
export type FlowTestFault = 'too_many_tests' | 'too_many_steps' | 'suppressed' | 'condition_unavailable' | 'failed';

/** Long enough for a look at the mail, short enough to wait for. */
export const WAIT_SECONDS = { default: 5, max: 600 };
/** Shown of one automation. */
export const FLOW_TESTS_SHOWN = 20;
/** Of one automation at once. */
export const FLOW_TESTS_RUNNING_MAX = 5;
/** Addresses and texts of a test are of no use later. */
export const FLOW_TESTS_KEPT_DAYS = 7;
/** Each node of a flow, some of them ten times. */
export const FLOW_TEST_STEPS_MAX = 500;

const PORTS_MAX = 200;

export const flowTestInput = z.object({
  email: emailAddress(),
  waitSeconds: z.int().min(1).max(WAIT_SECONDS.max).nullish(),
  version: placeFilterInput.shape.version,
  ports: z
    .record(z.string(), z.string())
    .refine(
      (given) => Object.keys(given).length <= PORTS_MAX,
      `A test may choose the ports of at most ${PORTS_MAX} nodes.`,
    )
    .nullish(),
  markSubject: z.boolean().nullish(),
});

/** The ways that were chosen, by the ids of nodes. */
export type ChosenPorts = Readonly<Record<string, string>>;

/** What is wrong with the chosen ways; undefined: nothing. */
export function portsFault({ nodes }: Flow, ports: ChosenPorts): string | undefined {
  for (const [id, port] of Object.entries(ports)) {
    const node = nodes.find((one) => one.id === id);
    if (!node) return `The flow has no node “${id}”.`;
    const known = portsOf(node);
    if (!known.includes(port)) return `The node “${id}” has no port “${port}”, but these: ${known.join(', ')}.`;
  }
  return undefined;
}

/** A stay at a node, when it ends. */
export interface FlowTestStep {
  readonly node: string;
  /** By the virtual clock. */
  readonly at: string;
  readonly happenedAt: string;
  /** `waits`: without end; the test ends there. */
  readonly what: 'passed' | 'left' | 'parked' | 'waits';
  readonly port: string | null;
  readonly reason: string | null;
  /** Of the mail that was sent. */
  readonly messageId: string | null;
}
