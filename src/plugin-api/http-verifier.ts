/**
 * An email verifier for a vendor with a web interface. What all vendors need is here (connections, time-outs, the meaning of statuses,
 * closing); a plugin adds how its vendor's requests and answers look.
 */
import { VerifierError, type EmailVerifier, type VerifiedAddress, type VerifierOptions } from './email-verifier.ts';
import { textOf } from './http-driver.ts';
import type { ConnectionTest } from './sending-driver.ts';
import {
  NoAnswerError,
  retryAfterSeconds,
  type VendorAnswer,
  type VendorHttp,
  type VendorRequest,
} from './vendor-http.ts';

/** Sends one request. Throws VerifierError when there is no answer, or none with a status from 200 to 299. */
export type AskVerifier = (request: VendorRequest) => Promise<VendorAnswer>;

export interface HttpVerifierVendor {
  /** `https://api.example.com`. */
  readonly origin: string;
  /** The name of the vendor in errors. */
  readonly name: string;
  /** Requests at the same time; more wait. */
  readonly connections: number;
  /** One answer for each address, in the order of the addresses, by as many requests as the vendor needs. */
  verify(addresses: readonly string[], ask: AskVerifier): Promise<readonly VerifiedAddress[]>;
  /** The meaning of an answer with another status, where the vendor's own words say more than the status; undefined: by the status. */
  failureOf?(answer: VendorAnswer): VerifierError | undefined;
  /** Asks something that costs nothing. A VerifierError that `ask` throws becomes the answer. */
  test(ask: AskVerifier): Promise<ConnectionTest>;
}

/** The verifier; opens nothing yet. */
export function httpVerifier(options: VerifierOptions, vendor: HttpVerifierVendor): EmailVerifier {
  const { openHttp } = options;
  if (!openHttp) throw new Error('This version of Mailwright opens no connections for verifiers.');
  const http = openHttp(vendor.origin, { connections: vendor.connections, timeoutMs: options.replyTimeoutMs });
  const closing = new AbortController();
  const askUntil =
    (signal: AbortSignal): AskVerifier =>
    (request) =>
      answerTo(http, vendor, { ...request, signal });
  return {
    verify: (addresses, { signal }) =>
      untilOneEnds([signal, closing.signal], (either) => vendor.verify(addresses, askUntil(either))),
    async test() {
      try {
        return await vendor.test(askUntil(closing.signal));
      } catch (error) {
        return { ok: false, message: error instanceof Error ? error.message : String(error) };
      }
    },
    async close() {
      closing.abort();
      http.close();
    },
  };
}

/**
 * Work with a signal that ends with one of these, and with the work. Not AbortSignal.any: the signals that it makes leave a trace at a source
 * that lives longer, and there is a call for every few of a million people.
 */
async function untilOneEnds<Value>(
  signals: readonly AbortSignal[],
  work: (either: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const ending = new AbortController();
  const end = () => ending.abort();
  if (signals.some(({ aborted }) => aborted)) end();
  for (const signal of signals) signal.addEventListener('abort', end);
  try {
    return await work(ending.signal);
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', end);
    end();
  }
}

async function answerTo(http: VendorHttp, vendor: HttpVerifierVendor, request: VendorRequest): Promise<VendorAnswer> {
  if (request.signal?.aborted) throw new VerifierError(`Nobody waits for ${vendor.name} any more.`);
  try {
    const answer = await http.request(request);
    if (answer.status >= 200 && answer.status <= 299) return answer;
    throw vendor.failureOf?.(answer) ?? verifierFailureByStatus(vendor.name, answer);
  } catch (error) {
    if (!(error instanceof NoAnswerError)) throw error;
    throw new VerifierError(
      `${vendor.name} ${error.wasSent ? 'did not answer' : 'cannot be reached'}: ${error.message}`,
    );
  }
}

const ADVICE: Readonly<Record<number, string>> = {
  401: 'Check the credentials of the verification server.',
  402: 'Nothing is left of what was paid for: buy more there.',
  403: 'Check the credentials of the verification server, and what they may be used for.',
  429: 'It takes no more requests for now.',
};

/** What an answer means by its status alone, with what the vendor says, and what to do. */
export function verifierFailureByStatus(name: string, answer: VendorAnswer): VerifierError {
  const said = `${name} answered ${answer.status}: ${textOf(answer) || 'no text'}`;
  const advice = ADVICE[answer.status];
  return new VerifierError(advice === undefined ? said : `${said} (${advice})`, {
    retryAfterSeconds: retryAfterSeconds(answer),
  });
}
