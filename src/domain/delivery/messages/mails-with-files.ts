/**
 * Mails that are as large as a campaign's message with all its files, and are composed one by one: few at once in a process, and of a customer
 * only one, so that the slow server of one holds up no other's.
 */

/** Each may take four times the 25 MB of a message while it is composed; a goal of 250 MB is for a whole process. */
const AT_ONCE_MAX = 2;

interface Waiting {
  readonly customerId: bigint;
  begin(): void;
}

/** Of one process. */
export class MailsWithFiles {
  readonly #underWay = new Set<bigint>();
  readonly #waiting: Waiting[] = [];

  /** Does the work when there is a place for it: of those that wait, in their order. */
  async run(customerId: bigint, work: () => Promise<void>): Promise<void> {
    await new Promise<void>((begin) => {
      this.#waiting.push({ customerId, begin });
      this.#beginNext();
    });
    try {
      await work();
    } finally {
      this.#underWay.delete(customerId);
      this.#beginNext();
    }
  }

  #beginNext(): void {
    if (this.#underWay.size >= AT_ONCE_MAX) return;
    const at = this.#waiting.findIndex(({ customerId }) => !this.#underWay.has(customerId));
    const [next] = at < 0 ? [] : this.#waiting.splice(at, 1);
    if (!next) return;
    this.#underWay.add(next.customerId);
    next.begin();
  }
}
