/**
 * Sends generated requests to one row and looks at every answer: no 500, nothing outside the OpenAPI document, nothing
 * that tells how the program is made.
 */
import fc from 'fast-check';
import { parametersOf } from '../../src/rest-facade/row-parameters.ts';
import { theContract } from '../support/contract.ts';
import type { RestApp } from '../support/open-rest-app.ts';
import type { RowPlace } from '../support/play-row.ts';
import { newWorld, type World } from '../support/rest-world.ts';
import { requestPlans } from './row-requests.ts';
import { sendPlan, type FuzzAnswer } from './send-plan.ts';

export interface RowReport {
  readonly name: string;
  readonly requests: number;
  readonly statuses: ReadonlyMap<number, number>;
  readonly msMax: number;
  /** Answers that took longer than two seconds. */
  readonly slow: readonly string[];
  readonly faults: readonly string[];
}

export interface FuzzOptions {
  readonly app: RestApp;
  readonly smtp: World['smtp'];
  readonly runs: number;
  readonly seed: number;
}

/** A world is used until something of it may be gone. */
const WORLD_REQUESTS_MAX = 200;
const PARALLEL = 4;
const SLOW_MS = 2_000;
/** What nobody outside may read: stacks, statements, paths of files. */
const INSIDE =
  /\bat .{1,80}\.[tj]s:\d+|node_modules|\bSELECT .* FROM\b|\bINSERT INTO\b|\/src\/|syntax error at|violates .* constraint/;

/** The report of `runs` requests to this row under each seed the same. */
export async function fuzzRow(place: RowPlace, { app, smtp, runs, seed }: FuzzOptions): Promise<RowReport> {
  const name = `${place.method} ${place.row.path}`;
  const parameters = await parametersOf(place.row);
  const slots = [...place.row.path.matchAll(/:\w+/g)].length;
  const plans = fc.sample(requestPlans(slots, parameters), { numRuns: runs, seed });
  const contract = await theContract();
  const statuses = new Map<number, number>();
  const report = { msMax: 0, slow: [] as string[], faults: [] as string[] };
  const other = await newWorld(app, smtp);
  let world = await newWorld(app, smtp);
  let used = 0;
  for (let from = 0; from < plans.length; from += PARALLEL) {
    if (used >= WORLD_REQUESTS_MAX) [world, used] = [await newWorld(app, smtp), 0];
    const scene = { app, world, other, place, parameters };
    const batch = plans.slice(from, from + PARALLEL);
    const answers = await Promise.all(
      batch.map((plan) => sendPlan(scene, plan).catch((error: unknown) => String(error))),
    );
    for (const [index, answer] of answers.entries()) {
      const said = `${name}, seed ${seed}, request ${from + index}: `;
      if (typeof answer === 'string') report.faults.push(`${said}no answer: ${answer}; ${shown(batch[index])}`);
      else {
        statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1);
        report.msMax = Math.max(report.msMax, answer.ms);
        if (answer.ms > SLOW_MS) report.slow.push(`${said}${Math.round(answer.ms)} ms; ${shown(batch[index])}`);
        const fault = faultOf(answer, contract.faultOf);
        const logged = answer.status === 500 ? loggedOf(app, answer) : '';
        if (fault)
          report.faults.push(
            `${said}${answer.status} ${fault}; ${answer.text.slice(0, 300)}${logged}; ${shown(batch[index])}`,
          );
        if (mayHaveGone(place, answer)) used = WORLD_REQUESTS_MAX;
      }
    }
    used += batch.length;
  }
  return { name, requests: plans.length, statuses, ...report };
}

function faultOf(
  answer: FuzzAnswer,
  ofContract: Awaited<ReturnType<typeof theContract>>['faultOf'],
): string | undefined {
  if (answer.status >= 500 && answer.status !== 503) return 'is a defect';
  if (answer.status >= 400 && INSIDE.test(answer.text)) return 'tells how the program is made';
  const isJson = answer.contentType.startsWith('application/json') && answer.text !== '';
  return ofContract({ ...answer, body: isJson ? parsed(answer.text) : undefined });
}

/** What the log has under the answer's reference. */
function loggedOf(app: RestApp, { text }: FuzzAnswer): string {
  const reference = /"reference":"([^"]+)"/.exec(text)?.[1] ?? 'none';
  const line = app.logged.find((one) => one.includes(reference) && /"level":"error"/.test(one));
  return line === undefined ? '' : ` ${line.slice(0, 1_000)}`;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return 'no JSON';
  }
}

/** Deleted, disabled, sent: the next request should find things as they were. */
function mayHaveGone({ method, row }: RowPlace, { status }: FuzzAnswer): boolean {
  return status < 300 && (method === 'DELETE' || /disable|erase|terminate|cancel|run|send|pause|resume/.test(row.path));
}

function shown(plan: unknown): string {
  return JSON.stringify(plan).slice(0, 1_500);
}
