/** Is the process alive (`/healthz`), and should traffic be sent to it (`/readyz`)? For supervisors and load balancers. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { messageOf } from '../lib/errors.ts';
import type { Mount } from './http-server.ts';
import { sendJson } from './send-json.ts';

/** A part of the program that must work: resolves when it does, throws when it does not. */
export type ReadinessCheck = () => Promise<void>;

export interface ReadinessChecks {
  readonly checks: Readonly<Record<string, ReadinessCheck>>;
  /** What an operator should know although the process is ready. */
  readonly notes?: () => readonly string[];
}

// A probe that gets no answer counts as failed anyway; most of them wait a few seconds.
const CHECK_TIMEOUT_MS = 3_000;

/** `/healthz` answers 200 as long as the process answers at all; `/readyz` runs the checks and answers 503 when one fails. */
export function healthMounts(readiness: ReadinessChecks): Mount[] {
  return [
    {
      prefix: '/healthz',
      exact: true,
      handle: (req, res) => reading(req, res, () => sendJson(res, 200, { status: 'ok' })),
    },
    { prefix: '/readyz', exact: true, handle: (req, res) => reading(req, res, () => answerReadiness(res, readiness)) },
  ];
}

async function answerReadiness(res: ServerResponse, { checks, notes }: ReadinessChecks): Promise<void> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => [name, await outcomeOf(check)] as const),
  );
  const ready = results.every(([, outcome]) => outcome === 'ok');
  const noted = notes?.() ?? [];
  sendJson(res, ready ? 200 : 503, {
    status: ready ? 'ready' : 'not ready',
    checks: Object.fromEntries(results),
    ...(noted.length > 0 ? { notes: noted } : {}),
  });
}

async function outcomeOf(check: ReadinessCheck): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve(`no answer within ${CHECK_TIMEOUT_MS} ms`), CHECK_TIMEOUT_MS);
  });
  const outcome = await Promise.race([check().then(() => 'ok', messageOf), late]);
  clearTimeout(timer);
  return outcome;
}

function reading(req: IncomingMessage, res: ServerResponse, answer: () => void | Promise<void>): void | Promise<void> {
  if (req.method === 'GET' || req.method === 'HEAD') return answer();
  res.setHeader('Allow', 'GET, HEAD');
  sendJson(res, 405, { message: 'Only GET is answered here.' });
}
