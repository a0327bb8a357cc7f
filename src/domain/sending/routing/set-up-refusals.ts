/**
 * Whose fault a refusal is that speaks of how a server is set up ("relay access denied", "authentication required", "client
 * host rejected"). As a rule everybody meets it, and no address is to blame. But a server that asks ahead hands on what a recipient's own host
 * said, which may not serve its domain any more. Told apart by what this process saw the server do; nothing is asked.
 */
import { SendingError } from '../../../plugin-api/index.ts';
import { classifyReply } from '../replies/classify-reply.ts';

/** Refused for so many whose mail it has never taken, one after the other: it is not one domain that has moved. */
const GROUPS_MIN = 3;
/** Groups remembered; a server that serves more is known by the latest. */
const GROUPS_MAX = 10_000;
/** A recipient's own fault may be mended in these minutes; a final refusal is tried no longer. */
const TRIES_MAX = 5;

export class SetUpRefusals {
  #taken = new Set<string>();
  #refused = new Set<string>();

  /** The server took a message to this group. */
  taken(group: string): void {
    if (this.#refused.size > 0) this.#refused.clear();
    if (this.#taken.has(group)) return;
    if (this.#taken.size >= GROUPS_MAX) this.#taken.clear();
    this.#taken.add(group);
  }

  /**
   * The error as the ledger should take it: `unavailable` while the server is to blame, `deferred` while it may be either.
   * What does not speak of the set-up stays as it is.
   */
  read(error: SendingError, refused: { group: string; attempts: number; isUnwell: boolean }): SendingError {
    if (!speaksOfSetUp(error)) return error;
    const { group, attempts, isUnwell } = refused;
    // Whoever comes again was refused while others were not: that says nothing new of the server.
    if (isUnwell || (attempts === 0 && this.#isServers(group))) return as('unavailable', error);
    return error.kind === 'refused' && attempts + 1 < TRIES_MAX ? as('deferred', error) : error;
  }

  #isServers(group: string): boolean {
    this.#refused.add(group);
    return this.#taken.size === 0 || this.#taken.has(group) || this.#refused.size >= GROUPS_MIN;
  }
}

/** Whether a refusal is about the server, or what it thinks of us, as far as its words go. */
export function speaksOfSetUp({ kind, code, enhancedStatus, message }: SendingError): boolean {
  if (code === undefined || (kind !== 'refused' && kind !== 'deferred')) return false;
  const meaning = classifyReply({ code, enhancedStatus, text: message });
  return (meaning.class === 'policy' || meaning.class === 'block') && meaning.scope === 'server';
}

function as(kind: 'unavailable' | 'deferred', { message, code, enhancedStatus }: SendingError): SendingError {
  return new SendingError(kind, message, { code, enhancedStatus });
}
