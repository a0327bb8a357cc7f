/** What an attack costs while it lasts: how much the product grows over what it has when idle, and how long `/readyz` takes. */
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Product } from './product.ts';

const PROBE_EVERY_MS = 100;

export interface AttackCost {
  readonly growthMb: number;
  readonly readyMs: number;
  /** `/readyz` said no. */
  readonly refusals: number;
}

/** Resident memory in megabytes, now. */
export function residentMb({ pid }: Product): number {
  return Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1_024;
}

/** Looks on for so many seconds. */
export async function measureAttack(
  product: Product,
  { seconds, idleMb }: { readonly seconds: number; readonly idleMb: number },
): Promise<AttackCost> {
  const until = performance.now() + seconds * 1_000;
  let readyMs = 0;
  let refusals = 0;
  while (performance.now() < until) {
    const requestedAt = performance.now();
    const answer = await fetch(`${product.url}/readyz`);
    await answer.arrayBuffer();
    if (!answer.ok) refusals += 1;
    readyMs = Math.max(readyMs, performance.now() - requestedAt);
    await sleep(PROBE_EVERY_MS);
  }
  return { growthMb: product.peakMegabytes() - idleMb, readyMs, refusals };
}

/** What is wrong with it, a sentence each. */
export function attackFaults(
  name: string,
  { growthMb, readyMs, refusals }: AttackCost,
  limits: { readonly growthMbMax: number; readonly readyMsMax: number },
): string[] {
  return [
    ...(growthMb > limits.growthMbMax
      ? [`${name}: ${growthMb.toFixed(0)} MB over idle; the limit is ${limits.growthMbMax}.`]
      : []),
    ...(readyMs > limits.readyMsMax
      ? [`${name}: /readyz took ${readyMs.toFixed(0)} ms; the limit is ${limits.readyMsMax}.`]
      : []),
    ...(refusals > 0 ? [`${name}: /readyz said no ${refusals} times.`] : []),
  ];
}

/** Says what was wrong, and lets the program fail for it. */
export function failFor(faults: readonly string[]): void {
  if (faults.length === 0) return;
  console.error(`\n${faults.join('\n')}`);
  process.exitCode = 1;
}
