/** One message on one connection: which commands were sent, and what its end means. */
import { SendingError, type OutgoingMessage, type SendResult } from '../../../src/plugin-api/index.ts';
import type { EnvelopeCommands } from './envelope.ts';
import type { Reply } from './reply.ts';
import { CLOSING } from './reply-meaning.ts';

/** A message that was given to the driver and has no result yet. */
export interface Delivery {
  readonly message: OutgoingMessage;
  readonly resolve: (result: SendResult) => void;
  readonly reject: (error: SendingError) => void;
  /** Was moved to another connection once, after its first one died before any content. */
  wasMoved: boolean;
}

/** `discard` is a lone dot, sent because DATA was pipelined before its recipient was refused. */
export type Step = 'reset' | 'mail' | 'rcpt' | 'data' | 'end' | 'discard';

export class Transaction {
  readonly delivery: Delivery;
  readonly commands: EnvelopeCommands;
  /** All steps in order: the first `saidCount` were sent, and the first `answeredCount` of those are answered. */
  steps: readonly Step[] = [];
  saidCount = 0;
  startedAt = 0;
  answeredCount = 0;
  /** The last byte of the content was given to the socket: the server may have the complete message. */
  wasHandedOver = false;
  /** The server accepted RCPT. */
  hasRecipient = false;
  failure: SendingError | undefined;

  constructor(delivery: Delivery, commands: EnvelopeCommands) {
    this.delivery = delivery;
    this.commands = commands;
  }

  get hasStarted(): boolean {
    return this.saidCount > 0;
  }

  /** Records that the oldest unanswered step was answered, and returns it. */
  nextAnswered(): Step {
    return this.steps[this.answeredCount++] ?? 'end';
  }

  accept(reply: Reply): void {
    const { message, resolve } = this.delivery;
    resolve({ runtimeMessageId: message.messageId, reply: reply.text() });
  }

  /** The error for a connection that died; `cause` says how, `closingReply` is the refusal that ended it, if any. */
  lossError(cause: Error, closingReply: SendingError | undefined): SendingError {
    if (this.failure) return this.failure;
    // RFC 5321 3.8: after a 421 the server closes and ignores later commands; after other refusals it continues
    if (closingReply && (closingReply.code === CLOSING || !this.wasHandedOver)) return closingReply;
    return new SendingError(this.wasHandedOver ? 'unknown' : 'unavailable', cause.message);
  }
}
