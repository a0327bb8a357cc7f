/** Transactional mails that a program sends by REST, so many a second whatever the answers take, each until it is accepted. */
import { Agent, request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { BENCH_TOKEN } from './product.ts';

export interface MailLoadOptions {
  /** Of the product that takes the next request; a killed one is started elsewhere. */
  readonly url: () => string;
  /** Calls a second. */
  readonly perSecond: number;
  /** What all calls have; `to` and `external_id` come with each. */
  readonly mail: Readonly<Record<string, unknown>>;
  /** The number of the first person. */
  readonly firstPerson: number;
  /** No call is begun while so many wait: while no product lives they would only gather, and take all connections. */
  readonly openMax?: number;
}

const TICK_MS = 10;
const AGAIN_MS = 500;
/** Of one request: a process that was killed takes none, and one that starts may be slow. */
const REQUEST_TIMEOUT_MS = 30_000;

/** Sends and notes when. */
export class MailLoad {
  readonly #options: MailLoadOptions;
  readonly #agent = new Agent({ keepAlive: true });
  readonly #work: Promise<void>[] = [];
  /** By person: when the request began, in milliseconds since 1970. */
  readonly sentAt = new Map<number, number>();
  /** How long each answer took, in milliseconds; of a request that was repeated, from its first try. */
  readonly answers: number[] = [];
  /** When the last call was accepted. */
  lastAcceptedAt = 0;
  repeated = 0;
  #stopped = false;
  #open = 0;

  constructor(options: MailLoadOptions) {
    this.#options = options;
  }

  /** Makes `calls` calls, then waits until all are accepted. */
  async run(calls: number): Promise<void> {
    const { perSecond, firstPerson, openMax = Infinity } = this.#options;
    let startedAt = performance.now();
    for (let no = 0; no < calls && !this.#stopped; await sleep(TICK_MS)) {
      const due = Math.min(calls, Math.floor(((performance.now() - startedAt) / 1_000) * perSecond));
      for (; no < due && this.#open < openMax; no++) this.#work.push(this.#untilAccepted(firstPerson + no));
      // What could not be begun is not made up for.
      if (no < due) startedAt = performance.now() - (no / perSecond) * 1_000;
    }
    await Promise.all(this.#work);
    this.#agent.destroy();
  }

  /** No further calls are begun. */
  stop(): void {
    this.#stopped = true;
  }

  async #untilAccepted(person: number): Promise<void> {
    const beganAt = performance.now();
    this.#open += 1;
    this.sentAt.set(person, Date.now());
    const body = JSON.stringify({
      ...this.#options.mail,
      ...{ to: `person${person}@example.org`, external_id: `mail-${person}` },
    });
    while (!(await this.#call(body))) {
      this.repeated += 1;
      await sleep(AGAIN_MS);
    }
    this.#open -= 1;
    this.lastAcceptedAt = Date.now();
    this.answers.push(performance.now() - beganAt);
  }

  /** False: there was no answer, or the server could not answer now. Throws when the call is refused. */
  async #call(body: string): Promise<boolean> {
    const answer = await post(`${this.#options.url()}/api/v1/transactional`, { body, agent: this.#agent });
    if (answer === undefined || answer.status >= 500 || answer.status === 429) return false;
    if (answer.status === 202) return true;
    throw new Error(`POST /transactional answered ${answer.status}: ${answer.text}`);
  }
}

/** Undefined: there was no whole answer. */
function post(
  url: string,
  { body, agent }: { body: string; agent: Agent },
): Promise<{ status: number; text: string } | undefined> {
  return new Promise((resolve) => {
    const headers = {
      ...{ authorization: `Bearer ${BENCH_TOKEN}`, 'content-type': 'application/json' },
      'content-length': Buffer.byteLength(body),
    };
    const sent = request(url, { method: 'POST', agent, headers, timeout: REQUEST_TIMEOUT_MS }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => (text += part));
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text })).on('error', () => resolve(undefined));
    });
    sent.on('timeout', () => sent.destroy()).on('error', () => resolve(undefined));
    sent.end(body);
  });
}
