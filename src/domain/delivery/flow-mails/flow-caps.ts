/** Frequency caps for mails of flows, and those that go as they do: each takes a place before it is marked. */
import { messageOf } from '../../../lib/errors.ts';
import { parseFrequencyCaps } from '../../audience/frequency-cap.ts';
import type { Context } from '../../context.ts';
import { endPlaces, takePlaces, type TakenPlaces } from '../capped-message-store.ts';
import { closed, heldBack } from '../messages/message-outcome.ts';
import type { MessageOutcome, TakenMessage } from '../messages/message-queue-store.ts';

/** Of one process. */
export class FlowCaps {
  readonly #means: Pick<Context, 'db' | 'log'>;
  readonly #taken = new Map<bigint, TakenPlaces>();

  constructor(means: Pick<Context, 'db' | 'log'>) {
    this.#means = means;
  }

  /** Takes a place for the message, which goes to this address; or what becomes of it without one. Whoever took one calls `ended`. */
  async take(message: TakenMessage, email: string): Promise<MessageOutcome | undefined> {
    const caps = parseFrequencyCaps({ customer: message.customerCap, list: message.listCap });
    if (caps === null) return undefined;
    const { id, listId, recipientId } = message;
    const messages = [{ recipientId, occurrence: id, email }];
    const [place = 'skip'] = await takePlaces(this.#means.db, { key: message, listId, caps, messages });
    if (place === 'skip') return closed(message, 'skipped', 'frequency_cap');
    if (!('takenAt' in place)) return heldBack(message, { reason: 'frequency_cap', ...place });
    this.#taken.set(id, { key: message, messages, ...place });
    return undefined;
  }

  /** The outcome of the message is recorded: its place is counted, or free again. */
  async ended(messageId: bigint): Promise<void> {
    const taken = this.#taken.get(messageId);
    if (!taken) return;
    this.#taken.delete(messageId);
    await endPlaces(this.#means.db, taken).catch((error: unknown) =>
      // It counts as sent until the next try takes it.
      this.#means.log.warn('messages.place_not_ended', { message: messageOf(error) }),
    );
  }
}
