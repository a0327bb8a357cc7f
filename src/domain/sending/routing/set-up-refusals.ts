/**
 * Whose fault a refusal is that speaks of how a server is set up ("relay access denied", "authentication required", "client
 * host rejected"). As a rule everybody meets it, and no address is to blame. But a server that asks ahead hands on what a recipient's own host
 * said, which may not serve its domain any more. Told apart by what this process saw the server do; nothing is asked.
 */

/** Refused for so many whose mail it has never taken, one after the other: it is not one domain that has moved. */
const GROUPS_MIN = 3;
/** Groups remembered; a server that serves more is known by the latest. */
const GROUPS_MAX = 10_000;

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

  /** Whether the server is to blame for a refusal that speaks of its set-up; false: it may be either. */
  isServers({ group, attempts, isUnwell }: { group: string; attempts: number; isUnwell: boolean }): boolean {
    // Whoever comes again was refused while others were not: that says nothing new of the server.
    if (isUnwell || attempts > 0) return isUnwell;
    this.#refused.add(group);
    return this.#taken.size === 0 || this.#taken.has(group) || this.#refused.size >= GROUPS_MIN;
  }
}
