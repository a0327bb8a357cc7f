/**
 * The ledger's permission to send one message. It is given when the row is marked, and the message may wait after that: to be
 * composed, and in the driver behind others for a slow server. Meanwhile its recipient may unsubscribe, be suppressed or erased,
 * or change the address.
 */

/**
 * How long a permission is valid; then the ledger is asked again. No message goes to an address that was changed, suppressed or
 * erased a second ago: the other half of that second is for the transfer to the server.
 */
const GOOD_MS = 500;

export class PermissionToSend {
  readonly #askAgain: () => Promise<boolean>;
  #givenAt = performance.now();
  #isWithdrawn = false;

  /** Given now. `askAgain` marks the row once more and returns whether it could. */
  constructor(askAgain: () => Promise<boolean>) {
    this.#askAgain = askAgain;
  }

  /** The ledger was asked again and refused. */
  get isWithdrawn(): boolean {
    return this.#isWithdrawn;
  }

  /** Whether the message may be sent now. Nothing is asked while the permission is valid. */
  isGood(): boolean | Promise<boolean> {
    return !this.#isWithdrawn && performance.now() - this.#givenAt < GOOD_MS ? true : this.#renew();
  }

  async #renew(): Promise<boolean> {
    this.#isWithdrawn ||= !(await this.#askAgain());
    this.#givenAt = performance.now();
    return !this.#isWithdrawn;
  }
}
