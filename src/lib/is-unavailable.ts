/**
 * Whether an error means that a service (the database) is away for the moment, and is no defect of ours: refused and lost
 * connections, a server that starts, stops or is full (SQLSTATE classes 08, 53 and 57P), and work that the server ended because
 * it took too long.
 */
export function isUnavailable(error: unknown): boolean {
  return isTimeOut(error) || someCause(error, CODES, (message) => MESSAGES.test(message) || PRISMA.test(message));
}

/** Whether the database ended it at a time limit (`db/work-limits.ts`): a statement, a wait for a lock, an idle transaction. */
export function isTimeOut(error: unknown): boolean {
  return someCause(error, TIME_OUTS, (message) => PRISMA_TIME_OUTS.test(message));
}

/** The message for the caller. */
export function unavailableMessage(error: unknown): string {
  return isTimeOut(error) ? TIME_OUT_MESSAGE : UNAVAILABLE_MESSAGE;
}

function someCause(error: unknown, codes: RegExp, isMeant: (message: string) => boolean): boolean {
  for (let cause = error, depth = 0; cause instanceof Error && depth < CAUSES_MAX; cause = cause.cause, depth += 1) {
    const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
    if (codes.test(code) || isMeant(cause.message)) return true;
  }
  return false;
}

/** After how many seconds a client should try again: a database that restarts is back soon. */
export const UNAVAILABLE_RETRY_SECONDS = 5;
export const UNAVAILABLE_MESSAGE = 'The service is not available for a moment. Try again soon.';
const TIME_OUT_MESSAGE =
  'This took too long and was stopped: the database is busy, or other work holds the same data. Try again soon.';

/** A chain of causes is short; the limit also ends a circular one. */
const CAUSES_MAX = 5;
/** SQLSTATEs, Node's own codes for sockets, and Prisma's for a server that cannot be reached or takes no more connections. */
const CODES = /^(08...|53...|57P..|ECONNREFUSED|ECONNRESET|EPIPE|ETIMEDOUT|P10(01|02|08|17)|P2037)$/;
/** Errors for which pg has no code. */
const MESSAGES =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error)/;
/** Prisma has its own codes for some of these, and puts the server's code into a sentence for the rest. */
const PRISMA = /Database error\. Code: `(08\w{3}|53\w{3}|57P\w{2})`/;
/** query_canceled, lock_not_available, idle_in_transaction_session_timeout. */
const TIME_OUTS = /^(57014|55P03|25P03)$/;
const PRISMA_TIME_OUTS = /Database error\. Code: `(57014|55P03|25P03)`/;
