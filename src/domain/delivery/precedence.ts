/**
 * Mails of the first priority go before campaigns also where processor time is short: while some are under way and the process has hardly any
 * time left, campaigns begin with their next messages a little later. Without this, a mail would wait for the campaign's work at each of its steps.
 */
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

/** The part of its time that a process may be busy before campaigns wait. Measured: with less, campaigns lose much and mails win nothing. */
const BUSY_MAX = 0.8;
/** The time over which that is measured. */
const MEASURED_MS = 20;
/** Campaigns go on after so long, however many mails come. */
const WAIT_MS_MAX = 250;
/** When no further mail has come for so long, those under way wait for their servers and not for the processor. */
const RECENT_MS = 1_000;

export class Precedence {
  #underWay = 0;
  #latestAt = -Infinity;
  #measured = performance.eventLoopUtilization();
  #measuredAt = performance.now();
  #isBusy = false;

  /** A mail of the first priority is under way, until `end`. */
  begin(): void {
    this.#underWay += 1;
    this.#latestAt = performance.now();
  }

  end(): void {
    this.#underWay -= 1;
  }

  /** Resolves when a campaign may begin with its next messages. */
  async untilCampaignsMay(): Promise<void> {
    const endsAt = performance.now() + WAIT_MS_MAX;
    while (this.#goesFirst() && performance.now() < endsAt) await sleep(MEASURED_MS / 2);
  }

  #goesFirst(): boolean {
    return this.#underWay > 0 && performance.now() - this.#latestAt < RECENT_MS && this.#isProcessBusy();
  }

  #isProcessBusy(): boolean {
    if (performance.now() - this.#measuredAt < MEASURED_MS) return this.#isBusy;
    const now = performance.eventLoopUtilization();
    this.#isBusy = performance.eventLoopUtilization(now, this.#measured).utilization > BUSY_MAX;
    this.#measured = now;
    this.#measuredAt = performance.now();
    return this.#isBusy;
  }
}

/** Of this process: its mails and its campaigns share the processor. */
export const precedence = new Precedence();
