/** The rules of flows that start one another (D70, D83), and of API calls and webhooks (D27), one function each. No code of the product is used. */
import type { NodeData, Payload } from './flow-data.ts';

const DEPTH_MAX = 5;

export const CALL_RULES = {
  /** D83: how deep the flow is that a run of this depth starts. */
  depthOfStarted(depth: number): number {
    return depth + 1;
  },
  /** D83: nobody enters deeper. */
  isTooDeep(depth: number): boolean {
    return depth > DEPTH_MAX;
  },
  /** What the run has goes along: it gives the entry its key. */
  payloadOfStarted(payload: Payload): Payload {
    return payload;
  },
  /** D70: a refused entry is no fault, and the person goes on. */
  faultOfStart(_refusal: string | null): string | undefined {
    return undefined;
  },
  /** D27: of one person, or of everybody. */
  isMeant(person: number, asked: number | undefined): boolean {
    return asked === undefined || asked === person;
  },
  /** D27: who waits there; not who was parked and is tried again, or passes over the node. */
  isCalled({ isParked, isAtWork }: { readonly isParked: boolean; readonly isAtWork: boolean }): boolean {
    return !isParked && !isAtWork;
  },
  /** D27: what the call brings is added, and replaces what has the same name. */
  payloadAfterCall(own: Payload, brought: Payload): Payload {
    return { ...own, ...brought };
  },
  /** D27: webhooks are fired for who begins to wait for a call: not for who passes over it, or whose wait is over already. */
  firesForCall(type: NodeData['type'], isAtWork: boolean): boolean {
    return type === 'api_call' && !isAtWork;
  },
  /** D27: by a webhook node, too. */
  firesForHook: true,
  /** Whom nobody calls in time. */
  portOfUncalled: 'timeout',
};
