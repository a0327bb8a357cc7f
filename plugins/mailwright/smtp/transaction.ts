/** One message on its way through one connection: what was said of it, and what its end means. */
import { SendingError, type OutgoingMessage, type SendResult } from '../../../src/plugin-api/index.ts';
import type { EnvelopeCommands } from './envelope.ts';
import type { Reply } from './reply.ts';
import { CLOSING } from './reply-meaning.ts';

/** A message that was handed to the driver and waits for its fate. */
export interface Delivery {
  readonly message: OutgoingMessage;
  readonly resolve: (result: SendResult) => void;
  readonly reject: (error: SendingError) => void;
  /** Has been given to another connection once already, after its first one died before any content. */
  wasMoved: boolean;
}

/** `discard` is a lone dot, sent because DATA was pipelined before its recipient was refused. */
export type Step = 'reset' | 'mail' | 'rcpt' | 'data' | 'end' | 'discard';

export class Transaction {
  readonly delivery: Delivery;
  readonly commands: EnvelopeCommands;
  /** All that is to be said, in order: first `saidCount` of them have been, and `answeredCount` of those are answered. */
  steps: readonly Step[] = [];
  saidCount = 0;
  startedAt = 0;
  answeredCount = 0;
  /** The last byte of the content was given to the socket: the server may have the whole message. */
  wasHandedOver = false;
  /** The server said yes to RCPT. */
  hasRecipient = false;
  failure: SendingError | undefined;

  constructor(delivery: Delivery, commands: EnvelopeCommands) {
    this.delivery = delivery;
    this.commands = commands;
  }

  get hasStarted(): boolean {
    return this.saidCount > 0;
  }

  /** Takes note that the oldest unanswered step was answered, and says which it was. */
  nextAnswered(): Step {
    return this.steps[this.answeredCount++] ?? 'end';
  }

  accept(reply: Reply): void {
    const { message, resolve } = this.delivery;
    resolve({ runtimeMessageId: message.messageId, reply: reply.text() });
  }

  /** The error for a connection that died; `cause` says how, `farewell` is the refusal that ended it, if one did. */
  lossError(cause: Error, farewell: SendingError | undefined): SendingError {
    if (this.failure) return this.failure;
    // RFC 5321 3.8: after a 421 the server closes, it works on nothing that came behind; after others it goes on
    if (farewell && (farewell.code === CLOSING || !this.wasHandedOver)) return farewell;
    return new SendingError(this.wasHandedOver ? 'unknown' : 'unavailable', cause.message);
  }
}
