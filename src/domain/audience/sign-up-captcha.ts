/**
 * The captcha of public sign-ups: work for the program of the person who signs up, so that signing many up is expensive. Nobody
 * else is asked and nothing is shown to solve. A challenge is signed, for one list, expires, and is taken once.
 */
import { createChallenge, randomInt, verifySolution, type Challenge } from 'altcha-lib';
import { deriveKey as deriveWork } from 'altcha-lib/algorithms/pbkdf2';
import { z } from 'zod';
import { deriveKey, sha256 } from '../../lib/crypto.ts';
import { ValidationError } from '../../lib/errors.ts';
import type { Context, Installation, TransactionContext } from '../context.ts';
import { listNotFound } from './list-errors.ts';
import type { MailList } from './list-fields.ts';
import { publicList } from './public-list-read-model.ts';
import { takeSignUp } from './sign-up-store.ts';

/** A good day of a list is below this; robots come faster. */
export const FLOOD_SIGN_UPS_PER_HOUR = 60;
/** For a person who fills in the form meanwhile. */
export const CHALLENGE_MINUTES = 20;
/** Together about a million rounds of SHA-256: half a second on a desk, some seconds on a slow phone. The server does one of the steps. */
const ROUNDS_A_STEP = 1_000;
const STEPS = { min: 500, max: 1_500 };
const ALGORITHM = 'PBKDF2/SHA-256';
/** Ours have 800 letters. */
const ANSWER_LENGTH_MAX = 4_000;

/** A new challenge for sign-ups to a list. Throws NotFoundError `LIST_NOT_FOUND`. */
export async function newChallenge(ctx: Context, { listUid }: { readonly listUid: string }): Promise<Challenge> {
  if (!(await publicList(ctx, listUid))) throw listNotFound();
  return createChallenge({
    ...{ algorithm: ALGORITHM, cost: ROUNDS_A_STEP, counter: randomInt(STEPS.max, STEPS.min) },
    ...{ deriveKey: deriveWork, data: { list: listUid }, ...secretsOf(ctx.installation) },
    expiresAt: new Date(ctx.clock.now().getTime() + CHALLENGE_MINUTES * 60_000),
  });
}

/** The text of an answer. */
export const captchaInput = z.string().max(ANSWER_LENGTH_MAX);

/**
 * Takes the answer to a challenge where the list needs one now. Throws ValidationError on `captcha` (`CAPTCHA_REQUIRED`). Undone
 * with the transaction: an answer is still good after a sign-up that failed.
 */
export async function takeCaptcha(
  ctx: TransactionContext,
  list: MailList,
  answer: string | null | undefined,
): Promise<void> {
  if (!mayAsk(ctx.installation) || !(await isNeeded(ctx, list))) return;
  if (answer && (await isRight(ctx, list, answer))) return;
  const sentence = answer
    ? 'The captcha is wrong, has expired or was used before: get a new challenge.'
    : 'The list needs a captcha now: answer its challenge.';
  throw new ValidationError({ captcha: [sentence] }, 'CAPTCHA_REQUIRED', sentence);
}

/** Browsers compute digests only on pages that came by https, or from the same machine. */
export function mayAsk({ baseUrl }: Installation): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

async function isNeeded({ db }: TransactionContext, { uid, signupCaptcha }: MailList): Promise<boolean> {
  if (signupCaptcha !== 'flood') return signupCaptcha === 'always';
  const usual = { triesMax: FLOOD_SIGN_UPS_PER_HOUR, triesPerSecond: FLOOD_SIGN_UPS_PER_HOUR / 3_600 };
  return !(await takeSignUp(db, `list:${uid}`, usual));
}

const answerShape = z.object({
  challenge: z.object({
    parameters: z.object({
      ...{
        algorithm: z.literal(ALGORITHM),
        nonce: z.string(),
        salt: z.string(),
        cost: z.number(),
        keyLength: z.number(),
      },
      ...{ keyPrefix: z.string(), keySignature: z.string(), expiresAt: z.number() },
      data: z.object({ list: z.string() }),
    }),
    signature: z.string(),
  }),
  solution: z.object({ counter: z.number(), derivedKey: z.string() }),
});

async function isRight(ctx: TransactionContext, { uid }: MailList, text: string): Promise<boolean> {
  const given = parsed(text);
  if (!given || given.challenge.parameters.data.list !== uid) return false;
  const { verified } = await verifySolution({ ...given, deriveKey: deriveWork, ...secretsOf(ctx.installation) });
  if (!verified) return false;
  const digest = sha256(given.challenge.signature).toString('hex');
  // A bucket of one that is never filled again.
  return takeSignUp(ctx.db, `captcha:${digest}`, { triesMax: 1, triesPerSecond: 0 });
}

function parsed(text: string): z.output<typeof answerShape> | undefined {
  try {
    return answerShape.parse(JSON.parse(Buffer.from(text, 'base64').toString()));
  } catch {
    return undefined;
  }
}

function secretsOf({ secret }: Installation) {
  return {
    hmacSignatureSecret: deriveKey(secret, 'sign-up-captcha').toString('hex'),
    hmacKeySignatureSecret: deriveKey(secret, 'sign-up-captcha-keys').toString('hex'),
  };
}
