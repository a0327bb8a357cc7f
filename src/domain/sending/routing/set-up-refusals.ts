/**
 * Who is at fault for a refusal about a server's set-up ("relay access denied", "authentication required", "client host
 * rejected"). Usually it affects all recipients, and no address is at fault. But a server that checks ahead passes on the reply
 * of a recipient's own host, which may not serve its domain any more. Decided by what this process saw the server do, without
 * queries.
 */

/** Refused for so many groups whose mail it never accepted, one after the other: more than one domain is affected. */
const GROUPS_MIN = 3;
/** Groups remembered; for a larger server the latest. */
const GROUPS_MAX = 10_000;

export class SetUpRefusals {
  #taken = new Set<string>();
  #refused = new Set<string>();

  /** The server accepted a message to this group. */
  taken(group: string): void {
    if (this.#refused.size > 0) this.#refused.clear();
    if (this.#taken.has(group)) return;
    if (this.#taken.size >= GROUPS_MAX) this.#taken.clear();
    this.#taken.add(group);
  }

  /** Whether the server is at fault for a refusal about its set-up; false: it may be either. */
  isServers({ group, attempts, isUnwell }: { group: string; attempts: number; isUnwell: boolean }): boolean {
    // A repeated recipient was refused before while others were not: that says nothing new about the server.
    if (isUnwell || attempts > 0) return isUnwell;
    this.#refused.add(group);
    return this.#taken.size === 0 || this.#taken.has(group) || this.#refused.size >= GROUPS_MIN;
  }
}
