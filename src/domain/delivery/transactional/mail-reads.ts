/**
 * What calls of one customer need to know, each read once for all calls that come at the same time. Whoever asks for it gets reads that
 * begin afterwards: a call sees all that was answered before it was sent.
 */
import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { onceFor } from '../../../lib/once-for.ts';
import { requireRunningPlan } from '../../billing/plans/require-allowed.ts';
import { findOwnedList } from '../../audience/find-owned-list.ts';
import { findOwnedTemplate } from '../../content/templates/find-owned-template.ts';
import { viewerOf, type Context } from '../../context.ts';
import type { Priority } from '../../messages/message.ts';
import { senderFault } from '../../sending/addresses/usable-sender.ts';
import { headsOf } from './mail-source.ts';
import { refuseTooManyWaiting } from './waiting.ts';

export type MailReads = ReturnType<typeof mailReads>;

/** Reads for the caller's customer. A template or list that is not the customer's is refused each time. */
export function mailReads(ctx: Context) {
  const { customerId } = viewerOf(ctx);
  const { db, installation } = ctx;
  const heads = headsOf(db, customerId);
  return {
    template: onceFor((uid: string) => findOwnedTemplate(ctx, uid)),
    list: onceFor((uid: string) => findOwnedList(ctx, uid)),
    heads: { template: onceFor(heads.template), list: onceFor(heads.list) },
    senderFault: onceFor((email: string) => senderFault(db, installation, { customerId, email })),
    /** Throws as requireRunningPlan does. */
    runningPlan: onceFor((id: bigint) => requireRunningPlan(db, id)),
    /** Throws as refuseTooManyWaiting does. */
    place: onceFor((priority: Priority) => refuseTooManyWaiting(db, customerId, priority)),
  };
}

/** Under load, calls of so long share their reads; a single call does not wait. */
const GATHER_MS = 10;

/** Of one customer. */
export class SharedMailReads {
  #next: Promise<MailReads> | undefined;
  #beganAt = -Infinity;

  /** Reads that have not begun yet. */
  take(ctx: Context): Promise<MailReads> {
    this.#next ??= this.#begin(ctx);
    return this.#next;
  }

  async #begin(ctx: Context): Promise<MailReads> {
    const waitMs = this.#beganAt + GATHER_MS - performance.now();
    await (waitMs > 0 ? sleep(waitMs) : setImmediate());
    this.#next = undefined;
    this.#beganAt = performance.now();
    return mailReads(ctx);
  }
}
