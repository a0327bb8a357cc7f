/** The rules of flows that start one another (D70, D83), one function each. No code of the product is used. */
import type { Payload } from './flow-data.ts';

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
};
