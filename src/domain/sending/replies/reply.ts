/** The nouns of this module: a reply of another server, its meaning, and a rule. */
import type { ReplyMatter } from './reply-matter.ts';

/** A reply as it was received; a bounce may have the status alone, or only a text. */
export interface ServerReply {
  /** SMTP reply code. */
  readonly code?: number | undefined;
  /** RFC 3463 status such as `4.7.28`. */
  readonly enhancedStatus?: string | undefined;
  /** All lines, with or without code and status. */
  readonly text: string;
}

/**
 * - `permanent`: this message will never get to this recipient (unknown address, too large, loop).
 * - `transient`: nothing is wrong with sender or message, it did not work this time (mailbox full, greylisting, busy).
 * - `block`: the sender's address, network or name is not welcome (block lists, reputation).
 * - `rate_limit`: too much or too fast.
 * - `policy`: a rule that the message or the sender breaks (authentication, content, login, encryption).
 */
export type ReplyClass = 'permanent' | 'transient' | 'block' | 'rate_limit' | 'policy';

/**
 * Whom it concerns: only this `recipient`, all at the recipient's `domain` (or its provider), everything through our `server`,
 * everything of this `sender`, or every copy of this `message`.
 */
export type ReplyScope = 'recipient' | 'domain' | 'server' | 'sender' | 'message';

export interface ReplyMeaning {
  readonly class: ReplyClass;
  readonly scope: ReplyScope;
  readonly what: ReplyMatter;
  /** The address does not exist, now or later: a hard bounce. Only true for a final (5xx) reply. */
  readonly isMailboxGone: boolean;
  /** How long to hold mail of this scope, if the server asked for it or is known to need it. */
  readonly waitSeconds?: number;
}

/** Applies when all of its conditions are true; the first rule of a table that applies counts. */
export interface ReplyRule {
  readonly what: ReplyMatter;
  readonly class: ReplyClass;
  readonly scope: ReplyScope;
  readonly isMailboxGone?: boolean;
  readonly waitSeconds?: number;
  /** Prefixes of the code, one of which it must have: `5`, `421`. */
  readonly codes?: readonly string[];
  /** The RFC 3463 status without its first digit, one of these: `.7.28`. */
  readonly status?: readonly string[];
  /** Tested on the text in lower case with single blanks. Gaps are bounded (`.{0,60}`): a hostile text costs no time. */
  readonly words?: RegExp;
}
