/**
 * What a failed delivery says about the address: hard, soft or blocked. Based on the classification of replies; only a certain
 * statement that the mailbox does not exist is hard, because a hard bounce suppresses the address permanently.
 */
import { classifyReply } from '../sending/replies/classify-reply.ts';
import type { ReplyMeaning } from '../sending/replies/reply.ts';
import { ABOUT_SENDER, ownWordings, STATUS_ABOUT_SENDER, summaries } from './bounce-wordings.ts';
import type { BounceClass } from './mail-report.ts';

/** Longer ones repeat themselves, or quote the message. */
const TEXT_LENGTH_MAX = 2_000;
/** The reply within a program's sentence: "host mx.example said: 550 5.1.1 ...", "smtp; 550 ...", "#5.1.1 smtp;550". */
const REPLY = /(?<![\d.#])([45][0-5]\d)(?:[ -]#?[45]\.\d{1,3}\.\d{1,3})?[ :-]{1,3}(?=[\p{L}<[("'*#\d])/u;
const STATUS = /(?<![\d.])[45]\.\d{1,3}\.\d{1,3}(?![\d.]*\d)/;
/** A status that only says that it failed. */
const EMPTY_STATUS = /^[45]\.0\.0$/;

/** Security and policy (RFC 3463 3.8): "not found" in these is hardly ever about the recipient. */
const POLICY_STATUS = /^[45]\.7\.\d/;

export interface FailedDelivery {
  /** From the report's own field, if it had one. */
  readonly status: string | null;
  /** The refusing system's text, or the program's own. */
  readonly text: string;
}

export function classifyBounce(failure: FailedDelivery): BounceClass {
  const text = failure.text.slice(0, TEXT_LENGTH_MAX);
  const words = text.toLowerCase().replace(/\s+/g, ' ').replaceAll('’', "'");
  const status = statusOf(failure);
  if (ABOUT_SENDER.test(words) || STATUS_ABOUT_SENDER.test(status ?? '')) return 'blocked';
  const own = POLICY_STATUS.test(status ?? '') ? undefined : ownWordings.find((wording) => wording.words.test(words));
  // Permanent words with a temporary status: the server says that it may work later.
  if (own)
    return own.class === 'hard' && status?.startsWith('4') && !/nxdomain|not exist/.test(words) ? 'soft' : own.class;
  const reply = REPLY.exec(text);
  if (reply)
    return classOf(classifyReply({ code: Number(reply[1]), enhancedStatus: status, text: text.slice(reply.index) }));
  const summary = summaries.find((wording) => wording.words.test(words));
  if (summary && (status === undefined || EMPTY_STATUS.test(status) || status.startsWith('4'))) return summary.class;
  return classOf(classifyReply({ enhancedStatus: status ?? '5.0.0', text }));
}

/** The more precise one: the server's, unless that only says that it failed. */
function statusOf({ status, text }: FailedDelivery): string | undefined {
  const said = STATUS.exec(text)?.[0];
  if (said !== undefined && !EMPTY_STATUS.test(said)) return said;
  return status ?? said;
}

/** A refusal that is final for the message is not final for the person, unless it says more. */
function classOf({ class: reason, scope, isMailboxGone }: ReplyMeaning): BounceClass {
  if (isMailboxGone) return 'hard';
  if (reason === 'block' || reason === 'policy') return 'blocked';
  if (reason === 'rate_limit') return scope === 'recipient' ? 'soft' : 'blocked';
  return reason === 'permanent' && scope === 'message' ? 'blocked' : 'soft';
}
